#include "collectives/reduce/tree.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"

namespace lapwing::reduce {

using namespace reduction;

List build_along_tree(const Problem& problem, int rank, const Neighbours& neighbours) {
    const std::vector<int>& children = neighbours.children;
    const int top = neighbours.top;
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = rank == problem.root ? out(0, problem.bytes) : Span{};
    // The problem's root receives the result from the tree's root.
    const bool detour = rank == problem.root && rank != top;

    Builder list(problem, rank, 3 * children.size() + 4);
    Contributions contributions(list, problem.ordered, own, detour ? Span{} : result, neighbours.below,
                                children.size());
    for (std::size_t i = 0; i < children.size(); ++i) list.recv(children[i], contributions.of(i));
    const Span last = !detour || own.space == Space::in ? result : list.scratch(problem.bytes);
    if (detour) list.recv(top, last);

    for (const int child : children) list.wait(child);
    const Span combined = contributions.combine(list);
    if (rank != top) {
        list.send(neighbours.parent, sendable(list, combined, result));
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

double cost_along_tree(const Problem& problem, bool detour, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    const double message = machine.latency + 2 * machine.task + bytes * machine.per_byte;
    const double levels = ceil_log2(problem.ranks);
    return levels * (message + bytes * machine.copy_per_byte) + (detour ? message : 0);
}

Verdict fits_tree(const Problem& problem) {
    return within_scratch(problem.bytes, static_cast<std::uint64_t>(ceil_log2(problem.ranks)) + 2);
}

}  // namespace lapwing::reduce
