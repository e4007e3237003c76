// Gather along a binary tree: no rank receives from more than two.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
//
// The ranks below the first of a run are halved, so that every subtree is a run and its blocks stay in order.
#include "collectives/arithmetic.hpp"
#include "collectives/gather/tree.hpp"
#include "collectives/rows.hpp"

namespace lapwing::gather {
namespace {

int middle(Subtree subtree) {
    return subtree.begin + 1 + (subtree.end - subtree.begin) / 2;
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int relative = relative_rank(rank, problem.root, problem.ranks);
    TreeNode node;
    node.first = problem.root;
    node.own = {0, problem.ranks};
    while (node.own.begin != relative) {
        node.parent = node.own.begin;
        const int half = middle(node.own);
        node.own = relative < half ? Subtree{node.own.begin + 1, half} : Subtree{half, node.own.end};
    }
    const int half = middle(node.own);
    const Subtree halves[] = {{relative + 1, half}, {half, node.own.end}};
    for (const Subtree& child : halves) {
        if (child.begin < child.end) node.children.push_back(child);
    }
    return build_along_tree(problem, rank, node);
}

// Along the first children, whose subtrees are the largest: each waits for all blocks of its subtree.
double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    double seconds = 0;
    for (int size = problem.ranks; size > 1; size /= 2) {
        const double children = size > 2 ? 2 : 1;
        const double blocks = size - 1;
        seconds += machine.latency + (1 + children) * machine.task +
                   blocks * static_cast<double>(problem.bytes) * machine.per_byte;
    }
    return seconds;
}

}  // namespace

const Algorithm binary = {
    .summary = "each rank collects the blocks of at most two others and sends them on",
    .source = "Kaiser et al. 2009, section 3.1",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
