// Who waits for whom, and the cycles among the ranks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "watch/job_view.hpp"
#include "watch/mismatches.hpp"

namespace lapwing::watch {

// Messages in flight take less. Younger waits for messages are not taken for a part of a cycle.
constexpr std::uint64_t settled = 1'000'000'000;

// Something that happens when ranks of `missing` arrive: all of them, or one if ranks wait for a message of
// any of them.
struct Gate {
    Wait wait;                  // of one of the ranks that wait
    bool of_call = false;       // all ranks that have not made the call of a collective are missing
    std::vector<int> missing;   // ranks that answer
    std::size_t remaining = 0;  // ranks that must still arrive in the search
    bool open = false;
    std::vector<int> waiting;  // ranks, ascending
    std::uint64_t age = 0;     // of the oldest wait
};

// The rank of each wait waits for the rank of the next one, and the last for the first.
using Cycle = std::vector<const Wait*>;

struct WaitGraph {
    std::vector<Gate> gates;
    std::vector<std::vector<int>> gates_of;  // by communicator: gates of its collectives, by number
    std::vector<Cycle> cycles;               // the first ones; no rank is in two of them
};
WaitGraph find_waits(const JobView& job, const Mismatches& mismatches);

}  // namespace lapwing::watch
