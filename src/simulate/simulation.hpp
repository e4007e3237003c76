// Runs the lists of all ranks in simulated time.
//
// Each rank goes through its program and its lists as its engine would. Nothing depends on the order in which
// ranks are evaluated (they are a Kahn process network), except who of several uses an interface or a link
// first, and which of several tasks that it could do an engine turns to. Where nothing is shared, a worklist
// runs each rank until it must wait. Where interfaces or links are, messages take them in the order of time,
// by a calendar queue (Brown 1988). With several collectives in flight, or rendezvous, all tasks begin in the
// order of time, by a heap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/lists.hpp"
#include "simulate/operation.hpp"
#include "simulate/setting.hpp"

namespace lapwing::simulate {

struct Outcome {
    std::vector<Time> ends;      // of each rank
    std::uint64_t messages = 0;  // that were waited for
    std::uint64_t events = 0;    // of the queue; 0: the worklist

    Time end() const;  // of the last rank
};

// Whether the order in which messages arrive matters, so that the worklist will not do.
bool needs_queue(const Lists& lists, const Setting& setting);

// Throws Error: invalid_argument for parameters that are out of range, a program that starts what there is
// not or does not wait for what it has started, a network of another number of ranks, or a worklist where the
// queue is needed; unsupported for lists of which some rank waits for ever, and for more than 26 days of
// simulated time.
Outcome simulate(const Lists& lists, const Setting& setting);
// The same of a program with several collectives, whose groups are parts of so many ranks.
Outcome simulate(int ranks, std::span<const Operation> operations, const Setting& setting);

}  // namespace lapwing::simulate
