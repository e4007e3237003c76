// Partial results, and how two or many of them become one: what all reductions share.
//
// A reduce task overwrites its right operand, and what a list has sent it may not overwrite. Where the
// operator commutes, the operands are taken so that an arrival is overwritten; where it does not, a copy may
// be needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::reduction {

// `held` to send, or a copy of it where `result` is to be written over it later: in place, where the input
// stands in out.
inline Span sendable(Builder& list, Span held, Span result) {
    if (!held.overlaps(result)) return held;
    const Span copy = list.scratch(held.length);
    list.copy(copy, held);
    return copy;
}

// Whether an arrival may be received where the combination with it shall stand.
inline bool may_land(const Problem& problem, bool from_below) {
    return !problem.ordered || !from_below;
}

// Combines `held` with what has arrived from lower or from higher ranks and says where. Leaves `held` as it
// is, since it may have been sent.
inline Span combine(Builder& list, const Problem& problem, Span held, Span arrived, bool from_below) {
    if (may_land(problem, from_below)) {
        list.reduce(arrived, held);
        return arrived;
    }
    const Span room = list.scratch(held.length);
    list.copy(room, held);
    list.reduce(room, arrived);
    return room;
}

// The same, with the combination in `target`: `arrived` itself if it may land there; or `held` or other
// memory.
inline void combine_into(Builder& list, const Problem& problem, Span target, Span held, Span arrived,
                         bool from_below) {
    if (target == arrived) {
        list.reduce(target, held);
    } else if (!problem.ordered || from_below) {
        list.copy(target, held);
        list.reduce(target, arrived);
    } else {
        list.reduce(arrived, held);
        list.copy(target, arrived);
    }
}

// The own contribution and those of others, combined when all of them have arrived: from the right, so that
// one span is overwritten and all others are only read.
class Contributions {
  public:
    // `below` of the `others` have lower ranks; `ordered`: they are combined in the order of the ranks.
    // `result` is where the combination is wanted; empty: anywhere.
    Contributions(Builder& list, bool ordered, Span own, Span result, std::size_t below, std::size_t others)
        : parts_(others + 1), own_(ordered ? below : (own == result ? others : 0)), result_(result) {
        // In place the input stands in out until it has been read.
        const bool lands = result.length > 0 && own.space != result.space;
        for (std::size_t i = 0; i <= others; ++i) {
            if (i == own_) {
                parts_[i] = own;
            } else {
                parts_[i] = lands && i == others ? result : list.scratch(own.length);
            }
        }
    }

    // Where the contribution of another arrives, counted in the order of their ranks.
    Span of(std::size_t other) const { return parts_[other < own_ ? other : other + 1]; }

    // Says where the combination stands: in `result` if it may be there. One contribution stays where it is.
    Span combine(Builder& list) {
        Span& last = parts_.back();
        if (own_ + 1 == parts_.size() && own_ > 0 && last != result_) {
            const bool taken = result_.length == 0 || result_.overlaps(last);
            const Span room = taken ? list.scratch(last.length) : result_;
            list.copy(room, last);
            last = room;
        }
        for (std::size_t i = parts_.size() - 1; i-- > 0;) list.reduce(last, parts_[i]);
        return last;
    }

  private:
    std::vector<Span> parts_;
    std::size_t own_;
    Span result_;
};

// Seconds until a rank has received a vector from every other at once, and combined them.
inline double cost_of_one_step(const Problem& problem, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes) * (problem.ranks - 1);
    // What arrives from many ranks at once beyond the network's buffers costs again, as in the flat alltoall.
    const double crowded = problem.ranks > 2 ? std::max(0.0, bytes - machine.buffer) : 0;
    return machine.latency + (problem.ranks - 1) * 2 * machine.task +
           bytes * (machine.per_byte + machine.copy_per_byte) + 0.25 * crowded * machine.per_byte;
}

}  // namespace lapwing::reduction
