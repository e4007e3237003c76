// Broadcast along a binomial tree: the k-nomial tree with k = 2.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.2.
#include "collectives/broadcast/k_nomial_tree.hpp"

namespace lapwing::broadcast {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return build_along_k_nomial_tree(problem, rank, 2);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_k_nomial_tree(problem, 2, machine);
}

}  // namespace

extern const Algorithm binomial;
const Algorithm binomial = {
    .collective = Collective::broadcast,
    .name = "binomial",
    .summary = "in each step every rank that has the data sends it to one more",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.2",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::broadcast
