#include "collectives/subtrees.hpp"

#include <algorithm>

#include "collectives/arithmetic.hpp"

namespace lapwing {
namespace {

int subtree_end(int relative, int ranks) {
    return relative == 0 ? ranks : std::min(ranks, relative + lowest_bit(relative));
}

}  // namespace

TreeNode binomial_node(const Problem& problem, int rank) {
    const int relative = relative_rank(rank, problem.root, problem.ranks);
    TreeNode node;
    node.first = problem.root;
    node.own = {relative, subtree_end(relative, problem.ranks)};
    if (relative != 0) node.parent = relative - lowest_bit(relative);
    for (int child = 1; child < node.own.end - relative; child *= 2) {
        node.children.push_back({relative + child, subtree_end(relative + child, problem.ranks)});
    }
    return node;
}

Runs runs_between(const Problem& problem, int first, int parent, Subtree child) {
    const bool with_root = absolute_rank(parent, first, problem.ranks) == problem.root;
    const int wrap = problem.ranks - first;  // the place of rank 0, if it is not the first
    if (with_root && child.begin < wrap && wrap < child.end) {
        return {{{child.begin, wrap}, {wrap, child.end}}, 2};
    }
    return {{child, {}}, 1};
}

double cost_along_tree(const Problem& problem, int levels, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return levels * (machine.latency + 2 * machine.task) + (problem.ranks - 1) * bytes * machine.per_byte +
           bytes * machine.copy_per_byte;
}

}  // namespace lapwing
