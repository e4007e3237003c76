// Reduce-scatter by recursive halving. For short vectors.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.3.
//
// The halving begins with the farthest rank, so that each rank ends with its own block. If the operator does
// not commute, it begins with the nearest rank, so that neighbours are combined first. The blocks are then
// copied to the order in which they are halved: by the bits of their ranks in reverse.
#include <algorithm>

#include "collectives/reduce_scatter/halving.hpp"
#include "collectives/rows.hpp"

namespace lapwing::reduce_scatter {
namespace {

using reduction::Halving;

Verdict applies(const Problem& problem, const Parameters&) {
    return fits_halving(problem, problem.ordered ? 6 : 3);
}

List build(const Problem& problem, int rank, const Parameters&) {
    return build_halving(problem, rank,
                         problem.ordered ? Halving::Order::nearest_first : Halving::Order::farthest_first);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const VectorBlocks blocks(problem);
    const reduction::Fold fold(problem.ranks);
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

}  // namespace

const Algorithm recursive_halving = {
    .summary = "exchange the half that the peer keeps with the rank ..., 4, 2, 1 away",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce_scatter
