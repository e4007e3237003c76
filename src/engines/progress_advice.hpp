// Advises a progress thread inside a host, in words.
#pragma once

#include <fmt/format.h>

#include <string>

namespace lapwing {

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
inline std::string advise_progress_thread(const Progressed& lists) {
    constexpr double min_seconds = 0.01;
    constexpr double min_share = 0.1;
    if (lists.processors <= lists.ranks || lists.waited < min_seconds) return "";
    if (lists.waited < min_share * lists.elsewhere || lists.elsewhere < min_share * lists.waited) return "";
    return fmt::format(
        "rank 0 waited {:.3f} s, and its host has {} processors for {} ranks: "
        "LAPWING_PROGRESS_THREAD=any might hide some of it",
        lists.waited, lists.processors, lists.ranks);
}

}  // namespace lapwing
