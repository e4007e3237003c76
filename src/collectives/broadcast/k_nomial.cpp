// Broadcast along a k-nomial tree: fewer steps than binomial, with k - 1 sends in each.
// Kandalla et al. 2011, "Designing Non-blocking Broadcast with Collective Offload on InfiniBand Clusters:
// A Case Study with HPL" (small messages).
#include "collectives/broadcast/k_nomial_tree.hpp"

namespace lapwing::broadcast {
namespace {

constexpr Parameter parameters[] = {
    {"k", "base of the tree: a rank sends to k - 1 others in each step", 4, 2, 1024}};

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters& values) {
    return build_along_k_nomial_tree(problem, rank, values[0]);
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    return cost_along_k_nomial_tree(problem, values[0], machine);
}

}  // namespace

extern const Algorithm k_nomial;
const Algorithm k_nomial = {
    .collective = Collective::broadcast,
    .name = "k_nomial",
    .summary = "in each step every rank that has the data sends it to k - 1 more",
    .source = "Kandalla et al. 2011 (HPL), small messages",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::broadcast
