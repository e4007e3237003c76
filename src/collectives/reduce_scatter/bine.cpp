// Reduce-scatter by a Bine butterfly: recursive halving that begins with the nearest peer, so that the large
// first halves go to neighbours and only small last ones go far. De Sensi et al. 2025, "Bine Trees: Enhancing
// Collective Operations by Optimizing Communication Locality" (the reduce-scatter that permutes).
//
// The blocks that are sent together do not belong to neighbouring ranks. They are first copied to scratch in
// the order of the places of the butterfly, in which they are adjacent.
#include <algorithm>

#include "collectives/reduce_scatter/halving.hpp"

namespace lapwing::reduce_scatter {
namespace {

constexpr auto order = reduction::Halving::Order::bine;

Verdict applies(const Problem& problem, const Parameters&) {
    if (!problem.ordered) return fits_halving(problem, 4);
    return Verdict::no("the operator does not commute, and ranks that are no neighbours combine first");
}

List build(const Problem& problem, int rank, const Parameters&) {
    return build_halving(problem, rank, order);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const VectorBlocks blocks(problem);
    const reduction::Fold fold(problem.ranks);
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
    const Pieces all(blocks, fold, order);
    return copies + cost_of_exchanges(blocks, fold, machine, [&](int pieces) {
               std::uint64_t longest = 0;
               for (int first = 0; first < fold.core(); first += pieces)
                   longest = std::max(longest, all.begin(first + pieces) - all.begin(first));
               return longest;
           });
}

}  // namespace

const Algorithm bine = {
    .summary = "exchange the half that the peer keeps with the rank 1, 1, 3, 5, 11, ... away",
    .source = "De Sensi et al. 2025",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce_scatter
