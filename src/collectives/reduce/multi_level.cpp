// Reduce along a tree over all levels, in segments, so that the levels overlap. Karonis et al. 2000;
// Katevenis et al. 2022 (XHC).
//
// If the operator does not commute, the top of the tree is rank 0: each rank then combines runs of ranks in
// their order. Rank 0 sends the result to the root, if that is another rank.
#include "collectives/levels.hpp"
#include "collectives/reduction/combine.hpp"

namespace lapwing::reduce {
namespace {

using namespace reduction;

List build(const Problem& problem, int rank, const Parameters& values) {
    const two_level::Segments segments(problem, values[1], 1);
    const int top = levels::top_of(problem);
    const levels::Tree tree = levels::tree_of(*problem.placement, top, rank, values[0], segments.count());
    const bool root = rank == problem.root;
    const bool detour = root && rank != top;
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = root ? out(0, problem.bytes) : Span{};
    const auto result_of = [&](int s) { return root ? segments.of(result, s) : Span{}; };

    const std::size_t count = static_cast<std::size_t>(segments.count());
    Builder list(problem, rank, count * (3 * tree.children.size() + (root ? 5 : 1)));
    std::vector<Contributions> contributions;
    for (int s = 0; s < segments.count(); ++s) {
        contributions.emplace_back(list, problem.ordered, segments.of(own, s), detour ? Span{} : result_of(s),
                                   0, tree.children.size());
        for (std::size_t i = 0; i < tree.children.size(); ++i)
            list.recv(tree.children[i], contributions.back().of(i));
    }
    const Span arrival = !detour ? Span{} : problem.in_place ? list.scratch(problem.bytes) : result;
    for (int s = 0; s < segments.count() && detour; ++s) list.recv(top, segments.of(arrival, s));

    for (int s = 0; s < segments.count(); ++s) {
        for (const int child : tree.children) list.wait(child);
        const Span combined = contributions[static_cast<std::size_t>(s)].combine(list);
        if (rank != top)
            list.send(tree.parent, sendable(list, combined, result_of(s)));
        else if (!root)
            list.send(problem.root, combined);
        else
            list.copy(result_of(s), combined);
    }
    for (int s = 0; s < segments.count() && detour; ++s) list.wait(top);
    if (detour) list.copy(result, arrival);
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!levels::has_levels(problem)) return 0;
    const Placement& placement = *problem.placement;
    const int top = levels::top_of(problem);
    const auto bytes = static_cast<double>(problem.bytes);
    double detour = 0;
    if (top != problem.root) {
        const bool intra_node =
            placement.hosts() > 1 && placement.host_of(top) == placement.host_of(problem.root);
        detour = intra_node ? two_level::intra_node_messages(machine, 1, bytes)
                            : two_level::inter_node_messages(machine, 1, bytes);
    }
    return levels::cost_of_tree(problem, values, machine, true) + detour;
}

}  // namespace

const Algorithm multi_level = {
    .summary = "combine along a tree over hosts, NUMA nodes and caches, in segments",
    .source = "Karonis et al. 2000; Katevenis et al. 2022 (XHC)",
    .parameters = levels::parameters,
    .applies = levels::applies_to_reduction,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::reduce
