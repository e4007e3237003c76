// Reduce along a tree: each rank combines its own vector with those of its children's subtrees, and sends the
// combination on. For short vectors.
//
// Binomial: Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.4.
//
// If the operator does not commute, the root of the tree is rank 0, so that the tree does not go around the
// end of the ranks. Every subtree is then a run of ranks, and the tree's root sends the result on.
#include "collectives/trees.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"

namespace lapwing::reduce {
namespace {

using namespace reduction;

int top_of(const Problem& problem) {
    return problem.ordered ? 0 : problem.root;
}

// Scratch for the vectors of a tree of ceil_log2(ranks) levels.
Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(ceil_log2(problem.ranks)) + 2);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int top = top_of(problem);
    const TreeNode node = binomial_node(problem.ranks, relative_rank(rank, top, problem.ranks));
    const auto absolute = [&](int place) { return absolute_rank(place, top, problem.ranks); };
    std::vector<int> children;
    for (const Subtree& child : node.children) children.push_back(absolute(child.begin));
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = rank == problem.root ? out(0, problem.bytes) : Span{};
    // The problem's root receives the result from the tree's root.
    const bool detour = rank == problem.root && rank != top;

    Builder list(problem, rank, 3 * children.size() + 4);
    Contributions contributions(list, problem.ordered, own, detour ? Span{} : result, 0, children.size());
    for (std::size_t i = 0; i < children.size(); ++i) list.recv(children[i], contributions.of(i));
    const Span last = !detour || own.space == Space::in ? result : list.scratch(problem.bytes);
    if (detour) list.recv(top, last);

    for (const int child : children) list.wait(child);
    const Span combined = contributions.combine(list);
    if (rank != top) {
        list.send(absolute(node.parent), sendable(list, combined, result));
    } else if (rank != problem.root) {
        list.send(problem.root, combined);
    } else {
        list.copy(result, combined);
    }
    if (detour) {
        list.wait(top);
        list.copy(result, last);
    }
    return list.finish();
}

// A tree of ceil_log2(ranks) levels with two children of the same size at most.
double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    const double message = machine.latency + 2 * machine.task + bytes * machine.per_byte;
    const double levels = ceil_log2(problem.ranks);
    const bool detour = top_of(problem) != problem.root;
    return levels * (message + bytes * machine.copy_per_byte) + (detour ? message : 0);
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step half of the ranks that still hold partial results send them on",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::doubling,
};

}  // namespace lapwing::reduce
