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

// Something that happens when ranks arrive: all ranks of `missing`, or, if `any`, one of them.
struct Gate {
    Wait wait;              // of one of the ranks that wait
    bool by_calls = false;  // missing: the first `prefix` ranks of CommunicatorView::calls
    std::size_t prefix = 0;
    std::vector<int> missing;  // otherwise
    bool any = false;
    std::size_t remaining = 0;  // ranks that have not arrived in the search; not by_calls
    bool open = false;
    std::vector<int> waiting;  // ranks, ascending
    std::uint64_t age = 0;     // of the oldest wait
};

// (rank, index of the gate in which it waits): each rank waits for the next one, and the last for the first.
using Cycle = std::vector<std::pair<int, int>>;

struct WaitGraph {
    std::vector<Gate> gates;
    std::vector<std::vector<int>> gates_of;  // by communicator: gates of its collectives, by number
    std::vector<Cycle> cycles;               // the first ones; no rank is in two of them
};
WaitGraph find_waits(const JobView& job, const Mismatches& mismatches);

}  // namespace lapwing::watch
