// Reduce along a Bine tree: as many steps as along a binomial tree, between ranks that are nearer to each
// other. For short vectors. De Sensi et al. 2025, "Bine Trees: Enhancing Collective Operations by Optimizing
// Communication Locality".
//
// If the operator does not commute, the tree stands so that it does not go around the end of the ranks. Every
// subtree is then a run of ranks, and the tree's root sends the result on.
#include "collectives/bine.hpp"

#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/reduce/tree.hpp"
#include "collectives/rows.hpp"

namespace lapwing::reduce {
namespace {

int root_of_tree(const Problem& problem) {
    return problem.ordered ? bine::place_of_root(problem.ranks) : problem.root;
}

Verdict applies(const Problem& problem, const Parameters&) {
    return fits_tree(problem);
}

List build(const Problem& problem, int rank, const Parameters&) {
    Neighbours neighbours;
    neighbours.top = root_of_tree(problem);
    const int first = bine::first_of_tree(problem.ranks, neighbours.top);
    TreeNode node = bine::tree_node(problem.ranks, rank, first);
    const auto absolute = [&](int place) { return absolute_rank(place, first, problem.ranks); };
    if (node.parent >= 0) neighbours.parent = absolute(node.parent);
    if (problem.ordered) std::ranges::sort(node.children, {}, &Subtree::head);
    for (const Subtree& child : node.children) {
        neighbours.children.push_back(absolute(child.head));
        if (child.head < node.own.head) ++neighbours.below;
    }
    return build_along_tree(problem, rank, neighbours);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, root_of_tree(problem) != problem.root, machine);
}

}  // namespace

const Algorithm bine = {
    .summary = "as binomial, with peers that are nearer to each other",
    .source = "De Sensi et al. 2025",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce
