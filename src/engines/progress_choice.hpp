// LAPWING_PROGRESS_THREAD: which lists a thread of Lapwing's advances while the program computes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/settings.hpp"

namespace lapwing {

// Lists up to this size (bytes sent plus received) finish within a few interrupts. Overlapping them costs more
// than it hides.
inline constexpr std::uint64_t max_bytes_of_short = 16384;

enum class ProgressLists {
    none,
    long_ones,  // a short list takes less time than waking the thread
    all,
};

struct ProgressChoice {
    ProgressLists lists = ProgressLists::none;
    std::vector<int> processors = {};  // that the thread may use; empty: all that the process may use
};

// Throws Error (invalid_argument).
ProgressChoice read_progress_choice(const Settings& settings);

}  // namespace lapwing
