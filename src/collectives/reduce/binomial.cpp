// Reduce along a binomial tree. For short vectors.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.4.
//
// Counted from the root of the tree, rank r combines the ranks [r, r + b) where b is its lowest bit. The
// tree's root is the problem's root if the operator commutes, else rank 0, which sends the result on. Each
// subtree is therefore a run of neighbours, and the vectors of its children are in rank order.
#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"
#include "collectives/rows.hpp"

namespace lapwing::reduce {
namespace {

using namespace reduction;

int root_of_tree(const Problem& problem) {
    return problem.ordered ? 0 : problem.root;
}

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(ceil_log2(problem.ranks)) + 2);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int top = root_of_tree(problem);
    const int relative = relative_rank(rank, top, ranks);
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = rank == problem.root ? out(0, problem.bytes) : Span{};
    // The problem's root receives the result from the tree's root.
    const bool detour = rank == problem.root && rank != top;

    std::vector<int> children;
    const int reach = relative == 0 ? ranks : std::min(lowest_bit(relative), ranks - relative);
    for (int distance = 1; distance < reach; distance *= 2) {
        children.push_back(absolute_rank(relative + distance, top, ranks));
    }

    Builder list(problem, rank, 3 * children.size() + 4);
    Contributions contributions(list, problem.ordered, own, detour ? Span{} : result, 0, children.size());
    for (std::size_t i = 0; i < children.size(); ++i) list.recv(children[i], contributions.of(i));
    const Span last = !detour || own.space == Space::in ? result : list.scratch(problem.bytes);
    if (detour) list.recv(top, last);

    for (const int child : children) list.wait(child);
    const Span combined = contributions.combine(list);
    if (relative != 0) {
        list.send(absolute_rank(relative - lowest_bit(relative), top, ranks),
                  sendable(list, combined, result));
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

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    const double message = machine.latency + 2 * machine.task + bytes * machine.per_byte;
    const double levels = ceil_log2(problem.ranks);
    return levels * (message + bytes * machine.copy_per_byte) +
           (root_of_tree(problem) == problem.root ? 0 : message);
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step half of the ranks that still hold partial results send them on",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce
