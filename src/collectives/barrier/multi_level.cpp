// Barrier along a tree over all levels: signals go up to the top and back down. Karonis et al. 2000;
// Katevenis et al. 2022 (XHC).
#include "collectives/levels.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::barrier {
namespace {

constexpr Parameter parameters[] = {{"k", "base of the trees; 1: chains; 0: 4", 0, 0, 1024}};

Verdict applies(const Problem& problem, const Parameters&) {
    return levels::has_levels(problem);
}

List build(const Problem& problem, int rank, const Parameters& values) {
    const levels::Tree tree =
        levels::tree_of(*problem.placement, levels::top_of(problem), rank, values[0], 1);
    Builder list(problem, rank, 3 * (tree.children.size() + 1));
    for (const int child : tree.children) list.recv(child);
    if (tree.parent >= 0) list.recv(tree.parent);
    for (const int child : tree.children) list.wait(child);
    if (tree.parent >= 0) {
        list.send(tree.parent);
        list.wait(tree.parent);
    }
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) list.send(*child);
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    if (!levels::has_levels(problem)) return 0;
    return 2 * levels::cost_of_tree(problem, {values[0]}, machine, false);
}

}  // namespace

const Algorithm multi_level = {
    .summary = "signal up a tree over hosts, NUMA nodes and caches, and back down",
    .source = "Karonis et al. 2000; Katevenis et al. 2022 (XHC)",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
    .knows_hosts = true,
};

}  // namespace lapwing::barrier
