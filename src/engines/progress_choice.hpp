// LAPWING_PROGRESS_THREAD: which lists a thread of Lapwing's advances while the program computes, and whether
// such a thread would pay.
#pragma once

#include <string>
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

// The lists of one rank: seconds in calls that waited for them, and seconds in flight outside of calls. Its
// host has `processors` processors and `ranks` ranks.
struct Progressed {
    double waited = 0;
    double elsewhere = 0;
    long processors = 0;
    int ranks = 0;
};

// Returns an empty string if a thread would not pay. It pays if a processor is free, the program computes
// while lists are in flight, and waits take long enough.
std::string advise_progress_thread(const Progressed& lists);

}  // namespace lapwing
