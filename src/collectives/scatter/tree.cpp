// Scatter along a tree: the gather, mirrored. The blocks of a subtree arrive in scratch as one message. In
// rank order the root sends from in, in two messages if the order wraps around; otherwise from a copy in the
// order of the tree. The largest subtree is served first, because its way is the longest.
//
// Binomial: Chan, Heimlich, Purkayastha, van de Geijn 2007, "Collective communication: theory, practice, and
// experience" (the scatter along a minimum spanning tree); Thakur, Rabenseifner, Gropp 2005, "Optimization of
// Collective Communication Operations in MPICH", section 4.2.
#include "collectives/trees.hpp"

#include <cstddef>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::scatter {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const TreeOrder order(problem, TreeOrder::Messages::from_root);
    const TreeNode node =
        binomial_node(problem.ranks, relative_rank(order.index(rank), order.root(), problem.ranks));
    const bool root = node.parent < 0;
    const auto absolute = [&](int place) {
        return order.rank(absolute_rank(place, order.root(), problem.ranks));
    };
    const auto blocks = [&](int count) { return static_cast<std::uint64_t>(count) * problem.bytes; };
    const Span own = block_from(problem, rank, problem.root);

    const bool from_in = root && !order.is_path();
    const int copies = root && !from_in ? problem.ranks : 0;
    Builder list(problem, rank, 2 * node.children.size() + 4 + static_cast<std::uint64_t>(copies));
    Span held = own;  // of a leaf; of other ranks, the blocks of the whole subtree
    if (!from_in && !node.children.empty()) held = list.scratch(blocks(node.own.size()));
    for (int place = 0; place < copies; ++place) {
        if (place == node.own.begin) continue;
        list.copy(held.part(blocks(place), problem.bytes), in(blocks(absolute(place)), problem.bytes));
    }
    const auto part = [&](Subtree run) {
        if (from_in) return in(blocks(absolute(run.begin)), blocks(run.size()));
        return held.part(blocks(run.begin - node.own.begin), blocks(run.size()));
    };
    if (!root) {
        const Runs runs = runs_between(order, node.parent, node.own);
        for (const Subtree& run : runs) list.recv(absolute(node.parent), part(run));
        list.wait(absolute(node.parent), runs.count);
    }
    for (std::size_t i = node.children.size(); i-- > 0;) {
        const Subtree child = node.children[i];
        for (const Subtree& run : runs_between(order, node.own.begin, child))
            list.send(absolute(child.begin), part(run));
    }
    list.copy(own, root ? in(blocks(rank), problem.bytes) : part({node.own.begin, node.own.begin + 1}));
    return list.finish();
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step the ranks that hold blocks send half of them on",
    .source = "Chan et al. 2007; Thakur, Rabenseifner, Gropp 2005, section 4.2",
    .build = build,
    .cost = cost_along_tree,
};

}  // namespace lapwing::scatter
