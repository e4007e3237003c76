// Scatter along a binomial tree: the binomial gather, mirrored.
// Chan, Heimlich, Purkayastha, van de Geijn 2007, "Collective communication: theory, practice, and
// experience" (the scatter along a minimum spanning tree); Thakur, Rabenseifner, Gropp 2005, "Optimization
// of Collective Communication Operations in MPICH", section 4.2.
//
// The blocks of a subtree arrive in scratch as one message. The root sends from in, in two messages if the
// order of ranks wraps around. The largest subtree is served first, because its path is the longest.
#include <cstddef>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "collectives/subtrees.hpp"
#include "task/builder.hpp"

namespace lapwing::scatter {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const TreeNode node = binomial_node(problem, rank);
    const int relative = node.own.begin;
    const auto absolute = [&](int r) { return absolute_rank(r, problem.root, problem.ranks); };
    const auto blocks = [&](int count) { return static_cast<std::uint64_t>(count) * problem.bytes; };
    const Span own = block_from(problem, rank, problem.root);

    Builder list(problem, rank, 2 * node.children.size() + 4);
    Span held = own;  // of a leaf; of other ranks, the blocks of the whole subtree
    if (relative != 0 && !node.children.empty()) held = list.scratch(blocks(node.own.end - relative));
    const auto part = [&](Subtree run) {
        if (relative == 0) return in(blocks(absolute(run.begin)), blocks(run.end - run.begin));
        return held.part(blocks(run.begin - relative), blocks(run.end - run.begin));
    };
    if (relative != 0) {
        const Runs runs = runs_between(problem, node.parent, node.own);
        for (const Subtree& run : runs) list.recv(absolute(node.parent), part(run));
        list.wait(absolute(node.parent), runs.count);
    }
    for (std::size_t i = node.children.size(); i-- > 0;) {
        const Subtree child = node.children[i];
        for (const Subtree& run : runs_between(problem, relative, child))
            list.send(absolute(child.begin), part(run));
    }
    list.copy(own, part({relative, relative + 1}));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, ceil_log2(problem.ranks), machine);
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step the ranks that hold blocks send half of them on",
    .source = "Chan et al. 2007; Thakur, Rabenseifner, Gropp 2005, section 4.2",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scatter
