// Gather with a flat tree: all ranks send to the root at the same time, without any coordination.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
#include "collectives/gather/direct.hpp"

namespace lapwing::gather {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return build_flat(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_of_flat(problem, machine);
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::gather,
    .name = "flat",
    .summary = "all ranks send to the root at the same time",
    .source = "Kaiser et al. 2009, section 3.1",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
