// Gather along a tree. The blocks of a subtree are collected in scratch in the order of the tree's ranks and
// travel as one message. In rank order they arrive in the root's out directly, in two messages if the order
// wraps around; otherwise the root copies each from scratch.
//
// Binary and binomial: Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations
// on SCI Networks", section 3.1.
#include "collectives/trees.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

template <TreeNode (*node_at)(int ranks, int place)>
List build(const Problem& problem, int rank, const Parameters&) {
    const TreeOrder order(problem, TreeOrder::Messages::to_root);
    const TreeNode node =
        node_at(problem.ranks, relative_rank(order.index(rank), order.root(), problem.ranks));
    const bool root = node.parent < 0;
    const auto absolute = [&](int place) {
        return order.rank(absolute_rank(place, order.root(), problem.ranks));
    };
    const auto blocks = [&](int count) { return static_cast<std::uint64_t>(count) * problem.bytes; };
    const Span own = input(problem, rank, 0, problem.bytes);

    const bool to_out = root && !order.is_path();
    const bool copies = root && !to_out;
    Builder list(problem, rank,
                 4 * node.children.size() + 3 + (copies ? static_cast<std::uint64_t>(problem.ranks) : 0));
    Span collected = own;  // of a leaf; of other ranks, the blocks of the whole subtree
    if (!to_out && !node.children.empty()) collected = list.scratch(blocks(node.own.size()));
    const auto part = [&](Subtree run) {
        if (to_out) return out(blocks(absolute(run.begin)), blocks(run.size()));
        return collected.part(blocks(run.begin - node.own.begin), blocks(run.size()));
    };
    const auto runs_of = [&](Subtree child) { return runs_between(order, node.own.begin, child); };
    for (const Subtree& child : node.children) {
        for (const Subtree& run : runs_of(child)) list.recv(absolute(child.begin), part(run));
    }
    list.copy(root ? out(blocks(rank), problem.bytes) : part({node.own.begin, node.own.begin + 1}), own);
    for (const Subtree& child : node.children) {
        list.wait(absolute(child.begin), runs_of(child).count);
        for (int place = child.begin; copies && place < child.end; ++place)
            list.copy(out(blocks(absolute(place)), problem.bytes), part({place, place + 1}));
    }
    if (root) return list.finish();
    for (const Subtree& run : runs_between(order, node.parent, node.own))
        list.send(absolute(node.parent), part(run));
    return list.finish();
}

// Along the first children, whose subtrees are the largest: each waits for all blocks of its subtree.
double cost_of_binary(const Problem& problem, const Parameters&, const Machine& machine) {
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
    .build = build<binary_node>,
    .cost = cost_of_binary,
};

const Algorithm binomial = {
    .summary = "in each step half of the ranks that still hold blocks send them on",
    .source = "Kaiser et al. 2009, section 3.1",
    .build = build<binomial_node>,
    .cost = cost_along_tree,
};

}  // namespace lapwing::gather
