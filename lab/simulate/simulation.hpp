// Runs the lists of all ranks in simulated time.
//
// Each rank executes its program and its lists as its engine would. Ranks are a Kahn process network: the
// order of their evaluation matters only for shared interfaces and links, and if an engine has several ready
// tasks. If nothing is shared, a worklist runs each rank until it must wait. If interfaces or links are
// shared, messages use them in order of time, by a calendar queue (Brown 1988). With rendezvous, all tasks
// begin in order of time, by a heap.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/lists.hpp"
#include "simulate/setting.hpp"

namespace lapwing::simulate {

struct Outcome {
    std::vector<Time> ends;      // of each rank
    std::uint64_t messages = 0;  // received
    std::uint64_t events = 0;    // of the queue; 0: the worklist

    Time end() const;  // of the last rank
};

// Returns whether the order of arrivals matters, so that the worklist cannot be used.
bool needs_queue(const Lists& lists, const Setting& setting);

// Runs the simulation. Throws Error (invalid_argument) for parameters out of range, a network with another
// number of ranks, or a worklist where the queue is needed. Throws Error (unsupported)
// if some rank waits forever, and after 26 days of simulated time.
Outcome simulate(const Lists& lists, const Setting& setting);

}  // namespace lapwing::simulate
