// A reduce-scatter by one turn around the ring of ranks: each block starts at the rank above its destination,
// and every rank on its way adds its own contribution. Chan et al. 2007, "Collective
// communication: theory, practice, and experience" (the bucket algorithm).
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduction {

inline Verdict ring_keeps_order(const Problem& problem) {
    if (!problem.ordered) return Verdict::yes();
    return Verdict::no("the operator does not commute, and a ring does not combine in rank order");
}

class RingPass {
  public:
    RingPass(const VectorBlocks& blocks, int rank) : blocks_(blocks), rank_(rank) {}

    int above() const { return absolute_rank(1, rank_, blocks_.count()); }
    int below() const { return block(1); }
    // The block of the rank `distance` below this rank.
    int block(int distance) const {
        return absolute_rank(blocks_.count() - distance, rank_, blocks_.count());
    }

    // Posts the receives. If `target` is not empty, this rank's block arrives there; the list must not use
    // `target` before.
    void offer(Builder& list, Span target) {
        const int last = blocks_.count() - 1;
        for (int step = 1; step <= last; ++step) {
            const std::uint64_t bytes = blocks_.bytes(block(step + 1));
            arrivals_.push_back(step == last && target.length > 0 ? target : list.scratch(bytes));
            if (bytes > 0) list.recv(below(), arrivals_.back());
        }
    }

    // Sends, waits and combines. `own` is this rank's whole vector; `result` is overwritten later. Returns
    // the span of this rank's block: the target of offer(), if there was one and there are other ranks.
    Span run(Builder& list, Span own, Span result) const {
        Span held = blocks_.of(own, block(1));
        if (arrivals_.empty()) return held;
        held = sendable(list, held, result);
        for (std::size_t i = 0; i < arrivals_.size(); ++i) {
            if (held.length > 0) list.send(above(), held);
            if (arrivals_[i].length > 0) list.wait(below());
            list.reduce(arrivals_[i], blocks_.of(own, block(static_cast<int>(i) + 2)));
            held = arrivals_[i];
        }
        return held;
    }

  private:
    const VectorBlocks& blocks_;
    int rank_;
    std::vector<Span> arrivals_;  // by step
};

// Seconds of a turn whose longest block has `bytes` bytes.
inline double cost_of_ring_pass(double bytes, int ranks, const Machine& machine) {
    return (ranks - 1) *
           (machine.latency + 2 * machine.task + bytes * (machine.per_byte + machine.copy_per_byte));
}

}  // namespace lapwing::reduction
