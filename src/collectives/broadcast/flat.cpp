// Broadcast in one step: the root sends to everybody. For few ranks: once it is started, nobody waits for the
// help of another to go on.
// Hoefler, Lumsdaine, Rehm 2007, "Implementation and Performance Analysis of Non-Blocking Collective
// Operations for MPI".
#include <algorithm>

#include "collectives/broadcast/k_nomial_tree.hpp"

namespace lapwing::broadcast {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

// A tree whose root has all others as children.
std::int64_t radix(const Problem& problem) {
    return std::max(2, problem.ranks);
}

List build(const Problem& problem, int rank, const Parameters&) {
    return build_along_k_nomial_tree(problem, rank, radix(problem));
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_k_nomial_tree(problem, radix(problem), machine);
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::broadcast,
    .name = "flat",
    .summary = "the root sends to everybody, in one step",
    .source = "Hoefler, Lumsdaine, Rehm 2007",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::broadcast
