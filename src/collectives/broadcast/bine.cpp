// Broadcast along a Bine tree: as many steps as along a binomial tree, between ranks that are nearer to each
// other. De Sensi et al. 2025, "Bine Trees: Enhancing Collective Operations by Optimizing Communication
// Locality" (small vectors).
#include "collectives/bine.hpp"

#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::broadcast {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int first = bine::first_of_tree(problem.ranks, problem.root);
    const TreeNode node = bine::tree_node(problem.ranks, rank, first);
    const auto absolute = [&](int place) { return absolute_rank(place, first, problem.ranks); };

    Builder list(problem, rank, node.children.size() + 2);
    Span data = in(0, problem.bytes);
    if (node.parent >= 0) {
        data = out(0, problem.bytes);
        list.recv(absolute(node.parent), data);
        list.wait(absolute(node.parent));
    }
    // The largest subtree first: its path is the longest.
    for (std::size_t i = node.children.size(); i-- > 0;) list.send(absolute(node.children[i].head), data);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return ceil_log2(problem.ranks) *
           (machine.latency + 2 * machine.task + static_cast<double>(problem.bytes) * machine.per_byte);
}

}  // namespace

const Algorithm bine = {
    .summary = "as binomial, with peers that are nearer to each other",
    .source = "De Sensi et al. 2025",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::broadcast
