// How all reductions combine two or more partial results.
//
// A reduce task overwrites its right operand, and a list must not overwrite a span that it has sent. If the
// operator commutes, the arrival is the right operand. If it does not, a copy may be necessary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::reduction {

// Returns a span with the contents of `held` that can be sent: `held` itself, or a copy of it if `held`
// overlaps `result`, which is written later.
inline Span sendable(Builder& list, Span held, Span result) {
    if (!held.overlaps(result)) return held;
    const Span copy = list.scratch(held.length);
    list.copy(copy, held);
    return copy;
}

// Returns whether an arrival may be received in the span of its combination.
inline bool may_land(const Problem& problem, bool from_below) {
    return !problem.ordered || !from_below;
}

// Combines `held` with an arrival from lower or higher ranks and returns the span of the combination. Does
// not change `held`, which may have been sent.
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

// The same, with the combination in `target`: `held`, other memory, or `arrived` if may_land().
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

// This rank's contribution and those of other ranks, combined after all have arrived: from the right, so that
// one span is overwritten and the others are only read.
class Contributions {
  public:
    // `below` of the `others` have lower ranks. `ordered`: combine in rank order. `result`: where to write
    // the combination; if empty, anywhere.
    Contributions(Builder& list, bool ordered, Span own, Span result, std::size_t below, std::size_t others)
        : parts_(others + 1), own_(ordered ? below : (own == result ? others : 0)), result_(result) {
        // In place, the input stays in out until it has been read.
        const bool lands = result.length > 0 && own.space != result.space;
        for (std::size_t i = 0; i <= others; ++i) {
            if (i == own_) {
                parts_[i] = own;
            } else {
                parts_[i] = lands && i == others ? result : list.scratch(own.length);
            }
        }
    }

    // The span in which the contribution of another rank arrives; others are numbered in rank order.
    Span of(std::size_t other) const { return parts_[other < own_ ? other : other + 1]; }

    // Returns the span of the combination: `result` if possible. A single contribution stays where it is.
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

// Seconds to receive the vectors of all other ranks at once and combine them.
inline double cost_of_one_step(const Problem& problem, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes) * (problem.ranks - 1);
    // Bytes beyond the network's buffers cost again, as in the flat alltoall.
    const double crowded = problem.ranks > 2 ? std::max(0.0, bytes - machine.buffer) : 0;
    return machine.latency + (problem.ranks - 1) * 2 * machine.task +
           bytes * (machine.per_byte + machine.copy_per_byte) + 0.25 * crowded * machine.per_byte;
}

}  // namespace lapwing::reduction
