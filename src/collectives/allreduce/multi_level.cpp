// Allreduce along a tree over all levels: the vectors are combined on the way up, in segments, and each
// result goes back down while later segments go up. Karonis et al. 2000; Katevenis et al. 2022 (XHC).
//
// One rank combines each segment for all. All ranks therefore have the same result to the last bit.
#include "collectives/levels.hpp"
#include "collectives/reduction/combine.hpp"

namespace lapwing::allreduce {
namespace {

using namespace reduction;

List build(const Problem& problem, int rank, const Parameters& values) {
    const two_level::Segments segments(problem, values[1], 1);
    const levels::Tree tree =
        levels::tree_of(*problem.placement, levels::top_of(problem), rank, values[0], segments.count());
    const bool top = tree.parent < 0;
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);

    const std::size_t count = static_cast<std::size_t>(segments.count());
    Builder list(problem, rank, count * (4 * tree.children.size() + 6));
    std::vector<Contributions> contributions;
    for (int s = 0; s < segments.count(); ++s) {
        contributions.emplace_back(list, problem.ordered, segments.of(own, s),
                                   top ? segments.of(result, s) : Span{}, 0, tree.children.size());
        for (std::size_t i = 0; i < tree.children.size(); ++i)
            list.recv(tree.children[i], contributions.back().of(i));
    }
    // In place, the input stays in out until it has been read.
    const Span arrival = top || !problem.in_place ? result : list.scratch(problem.bytes);
    for (int s = 0; s < segments.count() && !top; ++s) list.recv(tree.parent, segments.of(arrival, s));

    const auto pass_down = [&](Span data) {
        for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
            list.send(*child, data);
    };
    // The result of a segment needs as many steps back from the top as its contribution did to get there.
    const int behind = top ? 0 : std::min(2 * tree.depth, segments.count());
    for (int step = 0; step < segments.count() + behind; ++step) {
        if (step < segments.count()) {
            for (const int child : tree.children) list.wait(child);
            const Span combined = contributions[static_cast<std::size_t>(step)].combine(list);
            if (top) {
                pass_down(combined);
                list.copy(segments.of(result, step), combined);
            } else {
                list.send(tree.parent, sendable(list, combined, result));
            }
        }
        if (top || step < behind) continue;
        list.wait(tree.parent);
        pass_down(segments.of(arrival, step - behind));
    }
    if (arrival != result) list.copy(result, arrival);
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!levels::has_levels(problem)) return 0;
    return levels::cost_of_tree(problem, values, machine, true) +
           levels::cost_of_tree(problem, values, machine, false);
}

}  // namespace

const Algorithm multi_level = {
    .summary = "combine up a tree over hosts, NUMA nodes and caches, in segments, and pass results back down",
    .source = "Karonis et al. 2000; Katevenis et al. 2022 (XHC)",
    .parameters = levels::parameters,
    .applies = levels::applies_to_reduction,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::allreduce
