#include "collectives/scatter/tree.hpp"

#include <cstddef>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "task/builder.hpp"

namespace lapwing::scatter {

List build_along_tree(const Problem& problem, int rank, const TreeNode& node) {
    const bool root = node.parent < 0;
    const auto absolute = [&](int place) { return absolute_rank(place, node.first, problem.ranks); };
    const auto blocks = [&](int count) { return static_cast<std::uint64_t>(count) * problem.bytes; };
    const Span own = block_from(problem, rank, problem.root);

    Builder list(problem, rank, 2 * node.children.size() + 4);
    Span held = own;  // of a leaf; of other ranks, the blocks of the whole subtree
    if (!root && !node.children.empty()) held = list.scratch(blocks(node.own.size()));
    const auto part = [&](Subtree run) {
        if (root) return in(blocks(absolute(run.begin)), blocks(run.size()));
        return held.part(blocks(run.begin - node.own.begin), blocks(run.size()));
    };
    if (!root) {
        const Runs runs = runs_between(problem, node.first, node.parent, node.own);
        for (const Subtree& run : runs) list.recv(absolute(node.parent), part(run));
        list.wait(absolute(node.parent), runs.count);
    }
    for (std::size_t i = node.children.size(); i-- > 0;) {
        const Subtree child = node.children[i];
        for (const Subtree& run : runs_between(problem, node.first, node.own.head, child))
            list.send(absolute(child.head), part(run));
    }
    list.copy(own, part({node.own.head, node.own.head + 1}));
    return list.finish();
}

}  // namespace lapwing::scatter
