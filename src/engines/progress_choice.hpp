// LAPWING_PROGRESS_THREAD: which lists a thread of Lapwing's advances while the program computes.
#pragma once

#include <vector>

#include "base/settings.hpp"

namespace lapwing {

enum class ProgressLists {
    none,
    long_ones,  // and short ones where an engine measures that waking the thread pays
    all,
};

struct ProgressChoice {
    ProgressLists lists = ProgressLists::none;
    std::vector<int> processors = {};  // that the thread may use; empty: all that the process may use
};

// Throws Error (invalid_argument).
ProgressChoice read_progress_choice(const Settings& settings);

}  // namespace lapwing
