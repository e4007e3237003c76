// Reduce-scatter by halving. Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication
// Operations in MPICH", section 4.3.
//
// recursive_halving, for short vectors, begins with the farthest rank, so that each rank ends with its own
// block. If the operator does not commute, it begins with the nearest rank, so that neighbours are combined
// first.
//
// Where the halving begins with the nearest rank, the blocks that are sent together do not belong to
// neighbouring ranks. They are first copied to scratch in the order in which they are halved: by the bits of
// their ranks in reverse.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/arithmetic.hpp"
#include "collectives/reduction/halving.hpp"
#include "collectives/rows.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduce_scatter {
namespace {

using reduction::Fold;
using reduction::Halving;
using reduction::Region;

// The piece with which a core rank ends, nearest rank first: each step's bit chooses a half, the first step's
// of the whole. Also the core rank that ends with a piece.
int bits_reversed(int core_rank, int core) {
    int piece = 0;
    for (int bit = 1; bit < core; bit *= 2) piece = 2 * piece + ((core_rank & bit) != 0 ? 1 : 0);
    return piece;
}

// The vector's pieces in the order in which they are halved; those of one core rank's pair are adjacent.
class Pieces {
  public:
    Pieces(const VectorBlocks& blocks, const Fold& fold, Halving::Order order)
        : blocks_(blocks), fold_(fold) {
        if (order == Halving::Order::farthest_first) return;
        begins_ = {0};
        for (int piece = 0; piece < fold.core(); ++piece)
            begins_.push_back(begins_.back() + region_of(bits_reversed(piece, fold.core())).bytes);
    }

    bool in_rank_order() const { return begins_.empty(); }
    // Of core(): where the last one ends.
    std::uint64_t begin(int piece) const {
        if (in_rank_order()) return blocks_.begin(fold_.first_rank_of(piece));
        return begins_[static_cast<std::size_t>(piece)];
    }
    // The core rank that ends with a piece, and the bytes of its ranks' blocks in the vector.
    int core_rank_of(int piece) const { return in_rank_order() ? piece : bits_reversed(piece, fold_.core()); }
    Region region_of(int core_rank) const {
        const std::uint64_t begin = blocks_.begin(fold_.first_rank_of(core_rank));
        return {begin, blocks_.begin(fold_.first_rank_of(core_rank + 1)) - begin};
    }

  private:
    const VectorBlocks& blocks_;
    const Fold& fold_;
    std::vector<std::uint64_t> begins_;
};

// A number of ranks that is no power of two is folded: the rank that stays ends with the blocks of both, and
// sends one on. Pieces that are not halved in rank order are first copied.
List build(const Problem& problem, int rank, const Parameters&) {
    const Halving::Order order =
        problem.ordered ? Halving::Order::nearest_first : Halving::Order::farthest_first;
    const VectorBlocks blocks(problem);
    const Fold fold(problem.ranks);
    const bool paired = fold.paired(rank) && blocks.total() > 0;
    const int partner = fold.partner(rank);
    const Span own = input(problem, rank, 0, blocks.total());
    const Span result = out(0, blocks.bytes(rank));
    if (fold.sits_out(rank)) return reduction::build_sitting_out(problem, rank, partner, own, result);

    const Pieces pieces(blocks, fold, order);
    Halving halving(problem, fold, rank, order, [&](int piece) { return pieces.begin(piece); });
    const int copies = pieces.in_rank_order() || fold.core() == 1 ? 0 : fold.core();
    Builder list(problem, rank, 4 * halving.steps().size() + static_cast<std::size_t>(copies) + 7);
    const Span from_partner = paired ? list.scratch(own.length) : Span{};
    if (paired) list.recv(partner, from_partner);
    halving.offer(list, problem.in_place || paired ? Span{} : result);

    Span held = own;
    if (paired) {
        list.wait(partner);
        held = reduction::combine(list, problem, own, from_partner, partner < rank);
    }
    if (copies > 0) {
        const Span vector = held;
        held = list.scratch(vector.length);
        for (int piece = 0; piece < copies; ++piece) {
            const Region region = pieces.region_of(pieces.core_rank_of(piece));
            list.copy(held.part(pieces.begin(piece), region.bytes), vector.part(region.begin, region.bytes));
        }
    }
    held = halving.run(list, held, result);
    const std::uint64_t first = pieces.region_of(fold.core_rank(rank)).begin;
    const auto block = [&](int r) { return held.part(blocks.begin(r) - first, blocks.bytes(r)); };
    if (paired && blocks.bytes(partner) > 0) list.send(partner, block(partner));
    list.copy(result, block(rank));
    return list.finish();
}

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(VectorBlocks(problem).total(), problem.ordered ? 6 : 3);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const VectorBlocks blocks(problem);
    const Fold fold(problem.ranks);
    double seconds = 0;
    const auto add = [&](std::uint64_t bytes, double each) {
        seconds += machine.latency + 2 * machine.task + static_cast<double>(bytes) * each;
    };
    if (problem.ordered && fold.core() > 1) {
        // The blocks are copied to the order of their pieces.
        seconds += fold.core() * machine.copy + static_cast<double>(blocks.total()) * machine.copy_per_byte;
    }
    const double combined = machine.per_byte + machine.copy_per_byte;
    if (fold.pairs() > 0) add(blocks.total(), combined);
    // With blocks of one length the first half is the longest, because pairs of ranks come first.
    const int examined = problem.parts.empty() ? 1 : fold.core();
    for (int pieces = fold.core() / 2; pieces > 0; pieces /= 2) {
        std::uint64_t longest = 0;
        for (int first = 0; first < examined; first += pieces) {
            longest = std::max(longest, blocks.begin(fold.first_rank_of(first + pieces)) -
                                            blocks.begin(fold.first_rank_of(first)));
        }
        add(longest, combined);
    }
    if (fold.pairs() > 0) add(blocks.largest(), machine.per_byte);
    return seconds;
}

}  // namespace

const Algorithm recursive_halving = {
    .summary = "exchange the half that the peer keeps with the rank ..., 4, 2, 1 away",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce_scatter
