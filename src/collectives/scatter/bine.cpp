// Scatter along a Bine tree: the Bine gather, mirrored. De Sensi et al. 2025, "Bine Trees: Enhancing
// Collective Operations by Optimizing Communication Locality".
#include "collectives/bine.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "collectives/scatter/tree.hpp"

namespace lapwing::scatter {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int first = bine::first_of_tree(problem.ranks, problem.root);
    return build_along_tree(problem, rank, bine::tree_node(problem.ranks, rank, first));
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, ceil_log2(problem.ranks), machine);
}

}  // namespace

const Algorithm bine = {
    .summary = "as binomial, with peers that are nearer to each other",
    .source = "De Sensi et al. 2025",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scatter
