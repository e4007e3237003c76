// Gather along a tree. The blocks of a subtree are collected in scratch in the order of the tree's ranks and
// travel as one message. In rank order they arrive in the root's out directly, in two messages if the order
// wraps around; otherwise the root copies each from scratch.
//
// Binary and binomial: Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations
// on SCI Networks", section 3.1. Bine: De Sensi et al. 2025, "Bine Trees: Enhancing Collective Operations by
// Optimizing Communication Locality"; of the paper's trees it is the one whose subtrees are runs of ranks.
#include "collectives/trees.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

std::uint64_t blocks(int count, const Problem& problem) {
    return static_cast<std::uint64_t>(count) * problem.bytes;
}

List build_root(const Problem& problem, const TreeOrder& order, const TreeNode& node) {
    const int root = problem.root;
    const auto absolute = [&](int place) {
        return order.rank(absolute_rank(place, node.first, problem.ranks));
    };
    if (order.is_path()) {
        Builder list(problem, root, 2 * node.children.size() + static_cast<std::uint64_t>(problem.ranks));
        const Span all = list.scratch(blocks(problem.ranks, problem));
        const auto part = [&](int place, int count) {
            return all.part(blocks(place, problem), blocks(count, problem));
        };
        for (const Subtree& child : node.children)
            list.recv(absolute(child.head), part(child.begin, child.size()));
        list.copy(out(blocks(root, problem), problem.bytes), input(problem, root, 0, problem.bytes));
        for (const Subtree& child : node.children) {
            list.wait(absolute(child.head));
            for (int place = child.begin; place < child.end; ++place)
                list.copy(out(blocks(absolute(place), problem), problem.bytes), part(place, 1));
        }
        return list.finish();
    }
    const auto place_of = [&](Subtree run) {
        return out(blocks(absolute(run.begin), problem), blocks(run.size(), problem));
    };
    Builder list(problem, root, 4 * node.children.size() + 3);
    for (const Subtree& child : node.children) {
        for (const Subtree& run : runs_between(order, node.first, node.own.head, child)) {
            list.recv(absolute(child.head), place_of(run));
        }
    }
    list.copy(place_of({node.own.head, node.own.head + 1}), input(problem, root, 0, problem.bytes));
    for (const Subtree& child : node.children) {
        list.wait(absolute(child.head), runs_between(order, node.first, node.own.head, child).count);
    }
    return list.finish();
}

template <Shape shape>
List build(const Problem& problem, int rank, const Parameters&) {
    const TreeOrder order(problem, TreeOrder::Messages::to_root);
    const TreeNode node = tree_node(shape, problem.ranks, order.root(), order.index(rank));
    if (node.parent < 0) return build_root(problem, order, node);

    const auto absolute = [&](int place) {
        return order.rank(absolute_rank(place, node.first, problem.ranks));
    };
    Builder list(problem, rank, 2 * node.children.size() + 3);
    Span collected = in(0, problem.bytes);
    const auto part = [&](Subtree run) {
        return collected.part(blocks(run.begin - node.own.begin, problem), blocks(run.size(), problem));
    };
    if (!node.children.empty()) {
        collected = list.scratch(blocks(node.own.size(), problem));
        for (const Subtree& child : node.children) list.recv(absolute(child.head), part(child));
        list.copy(part({node.own.head, node.own.head + 1}), in(0, problem.bytes));
        for (const Subtree& child : node.children) list.wait(absolute(child.head));
    }
    for (const Subtree& run : runs_between(order, node.first, node.parent, node.own)) {
        list.send(absolute(node.parent), part(run));
    }
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
    .build = build<Shape::binary>,
    .cost = cost_of_binary,
};

const Algorithm binomial = {
    .summary = "in each step half of the ranks that still hold blocks send them on",
    .source = "Kaiser et al. 2009, section 3.1",
    .build = build<Shape::binomial>,
    .cost = cost_along_tree,
};

const Algorithm bine = {
    .summary = "as binomial, with peers that are nearer to each other",
    .source = "De Sensi et al. 2025",
    .build = build<Shape::bine>,
    .cost = cost_along_tree,
};

}  // namespace lapwing::gather
