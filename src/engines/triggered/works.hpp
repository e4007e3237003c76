// The works that a run of a schedule queues in the network: writes and additions to counters, each of which
// happens when a counter reaches a threshold.
//
// A write that waits for one peer has that peer's landing counter as its trigger. A write with several
// conditions waits at a *gate*, a counter of the run that each condition raises by one. The trigger of the
// level before raises the gate, too, so that a later level never overtakes an earlier one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engines/triggered/schedule.hpp"

namespace lapwing::triggered {

// A counter of one run: of the pair with a peer, in the slot that the run uses there, or a gate.
struct Counter {
    enum class Kind : std::uint8_t {
        none,    // the work happens at once
        landed,  // messages from the peer
        credit,  // the peer allows writes into its slot
        gate,
        stage,  // the processor raises it when a stage is over
    };
    Kind kind = Kind::none;
    std::int32_t which = -1;  // the peer, or the gate

    bool operator==(const Counter&) const = default;
};

struct Trigger {
    Counter counter;
    // landed, gate, stage: relative to the beginning of the run. credit: always 1, the credit of this run.
    std::uint64_t threshold = 0;

    bool operator==(const Trigger&) const = default;
};

struct Work {
    enum class Kind : std::uint8_t { write, add };
    Kind kind = Kind::write;
    Trigger trigger;
    std::uint32_t write = 0;  // its index in the schedule's writes
    std::int32_t gate = -1;   // add: the gate that is raised by one

    bool operator==(const Work&) const = default;
};

// Returns the works in the order in which they must be queued: of works with equal thresholds the first one
// queued happens first. `not_ready(peer)`: whether the messages to the peer must wait for its credit.
std::vector<Work> works(const Schedule& schedule, const std::function<bool(std::int32_t)>& not_ready);

std::uint64_t gates_of(const std::vector<Work>& works);
// Adding to a counter takes two trigger entries of Slingshot's card.
std::uint64_t entries_of(const Work& work);

// The most that a run takes of the network: when no peer is known to be ready.
struct Needs {
    std::uint64_t entries = 0;
    std::uint64_t counters = 0;  // gates, one for stages that writes wait for, and one for its end
};
Needs needs_of(const Schedule& schedule);

}  // namespace lapwing::triggered
