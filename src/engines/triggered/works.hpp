// The works that a run of a schedule hands to the network: writes and additions to counters, each of which
// happens when a counter reaches a threshold.
//
// A write that waits for one peer waits at that peer's landing counter. One that waits for several things
// waits at a *gate*, a counter of the run, which each of these things raises by one. The gate of a level is
// raised by the trigger of the level before, too, so a later level never overtakes an earlier one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engines/triggered/schedule.hpp"

namespace lapwing::triggered {

// A counter of one run: of the pair with a peer, in the slot that the run uses there, or a gate.
struct Counter {
    enum class Kind : std::uint8_t {
        none,    // of a work that happens at once
        landed,  // messages from the peer
        credit,  // the peer has consumed what this rank has put into its slot
        gate,
        stage,  // the processor raises it when a stage is over
    };
    Kind kind = Kind::none;
    std::int32_t which = -1;  // the peer, or the gate; of a run there is one that counts stages

    bool operator==(const Counter&) const = default;
};

struct Trigger {
    Counter counter;
    // landed, gate, stage: counted from the beginning of the run. credit: this one run's, always 1.
    std::uint64_t threshold = 0;

    bool operator==(const Trigger&) const = default;
};

struct Work {
    enum class Kind : std::uint8_t { write, add };
    Kind kind = Kind::write;
    Trigger trigger;
    std::uint32_t write = 0;  // its place in the schedule's writes
    std::int32_t gate = -1;   // add: which one is raised, by one

    bool operator==(const Work&) const = default;
};

// In the order in which they must be queued: of works with equal thresholds the first one queued is the first
// one done. `not_ready(peer)`: whether the peer may still use the slot that this run's messages go to, so
// that they have to wait for its credit.
std::vector<Work> works(const Schedule& schedule, const std::function<bool(std::int32_t)>& not_ready);

std::uint64_t gates_of(const std::vector<Work>& works);
// Raising a counter takes two trigger entries of Slingshot's card.
std::uint64_t entries_of(const Work& work);

// What a run takes of the network at most: while none of the peers is known to be ready.
struct Needs {
    std::uint64_t entries = 0;
    std::uint64_t counters = 0;  // gates, one for stages that writes wait for, and one for its end
};
Needs needs_of(const Schedule& schedule);

}  // namespace lapwing::triggered
