// Reduce-scatter by halving. Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication
// Operations in MPICH", section 4.3.
//
// recursive_halving, for short vectors, begins with the farthest rank, so that each rank ends with its own
// block. If the operator does not commute, it begins with the nearest rank, so that neighbours are combined
// first.
//
// bine begins with the nearest peer, so that the large first halves go to neighbours and only small last ones
// go far. De Sensi et al. 2025, "Bine Trees: Enhancing Collective Operations by Optimizing Communication
// Locality" (the reduce-scatter that permutes).
//
// Where the halving begins with the nearest rank, the blocks that are sent together do not belong to
// neighbouring ranks. They are first copied to scratch in the order in which they are halved: by the bits of
// their ranks in reverse, or by the places of the butterfly.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/arithmetic.hpp"
#include "collectives/bine.hpp"
#include "collectives/reduction/halving.hpp"
#include "collectives/rows.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduce_scatter {
namespace {

using reduction::Fold;
using reduction::Halving;
using reduction::Region;

// The piece with which a core rank ends: each step's bit chooses a half, the first step's of the whole.
int place_of(int core_rank, int core, Halving::Order order) {
    if (order == Halving::Order::bine) return bine::place(core_rank, core);
    int place = 0;
    for (int bit = 1; bit < core; bit *= 2) place = 2 * place + ((core_rank & bit) != 0 ? 1 : 0);
    return place;
}

// The vector's pieces in the order in which they are halved; those of one core rank's pair are adjacent.
class Pieces {
  public:
    Pieces(const VectorBlocks& blocks, const Fold& fold, Halving::Order order)
        : blocks_(blocks), fold_(fold) {
        if (order == Halving::Order::farthest_first) return;
        core_rank_of_.resize(static_cast<std::size_t>(fold.core()));
        for (int core = 0; core < fold.core(); ++core) {
            core_rank_of_[static_cast<std::size_t>(place_of(core, fold.core(), order))] = core;
        }
        begins_ = {0};
        for (const int core : core_rank_of_) begins_.push_back(begins_.back() + region_of(core).bytes);
    }

    bool in_rank_order() const { return begins_.empty(); }
    // Of core(): where the last one ends.
    std::uint64_t begin(int piece) const {
        if (in_rank_order()) return blocks_.begin(fold_.first_rank_of(piece));
        return begins_[static_cast<std::size_t>(piece)];
    }
    // The core rank that ends with a piece, and the bytes of its ranks' blocks in the vector.
    int core_rank_of(int piece) const {
        return in_rank_order() ? piece : core_rank_of_[static_cast<std::size_t>(piece)];
    }
    Region region_of(int core_rank) const {
        const std::uint64_t begin = blocks_.begin(fold_.first_rank_of(core_rank));
        return {begin, blocks_.begin(fold_.first_rank_of(core_rank + 1)) - begin};
    }

  private:
    const VectorBlocks& blocks_;
    const Fold& fold_;
    std::vector<int> core_rank_of_;
    std::vector<std::uint64_t> begins_;
};

// A number of ranks that is no power of two is folded: the rank that stays ends with the blocks of both, and
// sends one on. Pieces that are not halved in rank order are first copied.
List build_halving(const Problem& problem, int rank, Halving::Order order) {
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

// Seconds of the exchanges; `longest_half(n)` is the longest half of n pieces that is sent.
template <typename LongestHalf>
double cost_of_exchanges(const VectorBlocks& blocks, const Fold& fold, const Machine& machine,
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
inline double cost_of_copies(const VectorBlocks& blocks, const Fold& fold, const Machine& machine) {
    if (fold.core() == 1) return 0;
    return fold.core() * machine.copy + static_cast<double>(blocks.total()) * machine.copy_per_byte;
}

// Declines what needs more than `vectors` vectors of scratch.
Verdict fits_halving(const Problem& problem, std::uint64_t vectors) {
    return within_scratch(VectorBlocks(problem).total(), vectors);
}

Verdict applies(const Problem& problem, const Parameters&) {
    return fits_halving(problem, problem.ordered ? 6 : 3);
}

List build(const Problem& problem, int rank, const Parameters&) {
    return build_halving(problem, rank,
                         problem.ordered ? Halving::Order::nearest_first : Halving::Order::farthest_first);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const VectorBlocks blocks(problem);
    const Fold fold(problem.ranks);
    // With blocks of one length the first half is the longest, because pairs of ranks come first.
    const int examined = problem.parts.empty() ? 1 : fold.core();
    const double copies = problem.ordered ? cost_of_copies(blocks, fold, machine) : 0;
    return copies + cost_of_exchanges(blocks, fold, machine, [&](int pieces) {
               std::uint64_t longest = 0;
               for (int first = 0; first < examined; first += pieces) {
                   longest = std::max(longest, blocks.begin(fold.first_rank_of(first + pieces)) -
                                                   blocks.begin(fold.first_rank_of(first)));
               }
               return longest;
           });
}

Verdict bine_applies(const Problem& problem, const Parameters&) {
    if (!problem.ordered) return fits_halving(problem, 4);
    return Verdict::no("the operator does not commute, and ranks that are no neighbours combine first");
}

List build_bine(const Problem& problem, int rank, const Parameters&) {
    return build_halving(problem, rank, Halving::Order::bine);
}

double cost_of_bine(const Problem& problem, const Parameters&, const Machine& machine) {
    const VectorBlocks blocks(problem);
    const Fold fold(problem.ranks);
    const double copies = cost_of_copies(blocks, fold, machine);
    if (problem.parts.empty()) {
        // The pairs of a fold are spread over the places about evenly.
        return copies + cost_of_exchanges(blocks, fold, machine, [&](int pieces) {
                   const auto ranks =
                       static_cast<std::uint64_t>(pieces) * static_cast<std::uint64_t>(problem.ranks);
                   const auto core = static_cast<std::uint64_t>(fold.core());
                   return (ranks + core - 1) / core * problem.bytes;
               });
    }
    const Pieces all(blocks, fold, Halving::Order::bine);
    return copies + cost_of_exchanges(blocks, fold, machine, [&](int pieces) {
               std::uint64_t longest = 0;
               for (int first = 0; first < fold.core(); first += pieces)
                   longest = std::max(longest, all.begin(first + pieces) - all.begin(first));
               return longest;
           });
}

}  // namespace

const Algorithm recursive_halving = {
    .summary = "exchange the half that the peer keeps with the rank ..., 4, 2, 1 away",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .applies = applies,
    .build = build,
    .cost = cost,
};

const Algorithm bine = {
    .summary = "exchange the half that the peer keeps with the rank 1, 1, 3, 5, 11, ... away",
    .source = "De Sensi et al. 2025",
    .applies = bine_applies,
    .build = build_bine,
    .cost = cost_of_bine,
};

}  // namespace lapwing::reduce_scatter
