// The first half of the large-message broadcasts: the data is cut into chunks, one for each of `ranks` ranks
// counted from the root, and scattered along a binomial tree. Used by scatter_ring and
// scatter_recursive_doubling.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collectives/arithmetic.hpp"
#include "task/builder.hpp"

namespace lapwing::broadcast {

class ScatterTree {
  public:
    // `rank` counts from the root and is less than `ranks`.
    ScatterTree(std::uint64_t bytes, int ranks, int rank)
        : bytes_(bytes),
          chunk_((bytes + static_cast<std::uint64_t>(ranks) - 1) / static_cast<std::uint64_t>(ranks)),
          ranks_(ranks),
          rank_(rank) {}

    // The chunks [begin, end) as bytes: of `in` at the root, of `out` at the others. May be empty.
    Span chunks(int begin, int end) const {
        const std::uint64_t from = std::min(bytes_, chunk_ * static_cast<std::uint64_t>(begin));
        const std::uint64_t to = std::min(bytes_, chunk_ * static_cast<std::uint64_t>(end));
        return {rank_ == 0 ? Space::in : Space::out, from, to - from};
    }

    // After the scatter a rank holds its own chunk and those of its subtree.
    static int held_end(int rank, int ranks) {
        return rank == 0 ? ranks : std::min(ranks, rank + lowest_bit(rank));
    }
    bool holds(int rank, int chunk) const { return chunk >= rank && chunk < held_end(rank, ranks_); }

    int parent() const { return rank_ - lowest_bit(rank_); }

    // Posts the receive of this rank's chunks. The root receives none.
    template <typename Absolute>
    void offer(Builder& list, Absolute absolute) const {
        if (rank_ == 0) return;
        const Span mine = chunks(rank_, held_end(rank_, ranks_));
        if (mine.length > 0) list.recv(absolute(parent()), mine);
    }

    // Waits for this rank's chunks, and sends every child its part, the largest first.
    template <typename Absolute>
    void pass_on(Builder& list, Absolute absolute) const {
        if (rank_ != 0 && chunks(rank_, held_end(rank_, ranks_)).length > 0) list.wait(absolute(parent()));
        int distance = rank_ == 0 ? floor_power_of_two(ranks_) : lowest_bit(rank_) / 2;
        for (; distance >= 1; distance /= 2) {
            const int child = rank_ + distance;
            if (child >= ranks_) continue;
            const Span part = chunks(child, held_end(child, ranks_));
            if (part.length > 0) list.send(absolute(child), part);
        }
    }

  private:
    std::uint64_t bytes_;
    std::uint64_t chunk_;
    int ranks_;
    int rank_;
};

}  // namespace lapwing::broadcast
