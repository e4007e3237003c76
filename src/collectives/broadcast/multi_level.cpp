// Broadcast along a tree over all levels, in segments, so that the levels overlap. All data is sent from and
// received in the callers' buffers. Karonis et al. 2000; Katevenis et al. 2022 (XHC).
#include "collectives/levels.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::broadcast {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return levels::has_levels(problem);
}

List build(const Problem& problem, int rank, const Parameters& values) {
    const two_level::Segments segments(problem, values[1], 1);
    const levels::Tree tree =
        levels::tree_of(*problem.placement, problem.root, rank, values[0], segments.count());
    const bool root = rank == problem.root;
    const Span data = root ? in(0, problem.bytes) : out(0, problem.bytes);

    Builder list(problem, rank, static_cast<std::size_t>(segments.count()) * (tree.children.size() + 2));
    for (int s = 0; s < segments.count() && !root; ++s) list.recv(tree.parent, segments.of(data, s));
    for (int s = 0; s < segments.count(); ++s) {
        if (!root) list.wait(tree.parent);
        // Outer levels first.
        for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
            list.send(*child, segments.of(data, s));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!levels::has_levels(problem)) return 0;
    return levels::cost_of_tree(problem, values, machine, false);
}

}  // namespace

const Algorithm multi_level = {
    .summary = "along a tree over hosts, NUMA nodes and caches, in segments",
    .source = "Karonis et al. 2000; Katevenis et al. 2022 (XHC)",
    .parameters = levels::parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::broadcast
