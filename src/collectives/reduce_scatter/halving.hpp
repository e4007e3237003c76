// Reduce-scatters by halving, for recursive_halving and bine.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/reduction/halving.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduce_scatter {

// The vector's pieces in the order in which they are halved; those of one core rank's pair are adjacent.
class Pieces {
  public:
    Pieces(const VectorBlocks& blocks, const reduction::Fold& fold, reduction::Halving::Order order);

    bool in_rank_order() const { return begins_.empty(); }
    // Of core(): where the last one ends.
    std::uint64_t begin(int piece) const;
    // The core rank that ends with a piece, and the bytes of its ranks' blocks in the vector.
    int core_rank_of(int piece) const;
    reduction::Region region_of(int core_rank) const;

  private:
    const VectorBlocks& blocks_;
    const reduction::Fold& fold_;
    std::vector<int> core_rank_of_;
    std::vector<std::uint64_t> begins_;
};

// A number of ranks that is no power of two is folded: the rank that stays ends with the blocks of both, and
// sends one on. Pieces that are not halved in rank order are first copied.
List build_halving(const Problem& problem, int rank, reduction::Halving::Order order);
// Seconds of the exchanges; `longest_half(n)` is the longest half of n pieces that is sent.
template <typename LongestHalf>
double cost_of_exchanges(const VectorBlocks& blocks, const reduction::Fold& fold, const Machine& machine,
                         LongestHalf longest_half) {
    double seconds = 0;
    const auto add = [&](std::uint64_t bytes, double each) {
        seconds += machine.latency + 2 * machine.task + static_cast<double>(bytes) * each;
    };
    const double combined = machine.per_byte + machine.copy_per_byte;
    if (fold.pairs() > 0) add(blocks.total(), combined);
    for (int pieces = fold.core() / 2; pieces > 0; pieces /= 2) add(longest_half(pieces), combined);
    if (fold.pairs() > 0) add(blocks.largest(), machine.per_byte);
    return seconds;
}
// Seconds to copy the blocks to the order of their pieces.
inline double cost_of_copies(const VectorBlocks& blocks, const reduction::Fold& fold,
                             const Machine& machine) {
    if (fold.core() == 1) return 0;
    return fold.core() * machine.copy + static_cast<double>(blocks.total()) * machine.copy_per_byte;
}
// Declines what needs more than `vectors` vectors of scratch.
Verdict fits_halving(const Problem& problem, std::uint64_t vectors);

}  // namespace lapwing::reduce_scatter
