// Gather along a Bine tree: as many steps and bytes as along a binomial tree, between ranks that are nearer
// to each other. De Sensi et al. 2025, "Bine Trees: Enhancing Collective Operations by Optimizing
// Communication Locality".
//
// Of the paper's trees it is the one whose subtrees are runs of ranks.
#include "collectives/bine.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/gather/tree.hpp"
#include "collectives/rows.hpp"

namespace lapwing::gather {
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

}  // namespace lapwing::gather
