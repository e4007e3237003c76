// Gather by sequential transmission: like flat, but the root signals each rank when it may send.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
#include "collectives/gather/direct.hpp"

namespace lapwing::gather {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters& values) {
    return build_sequential(problem, rank, values[0]);
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    return cost_of_sequential(problem, values[0], machine);
}

}  // namespace

extern const Algorithm sequential;
const Algorithm sequential = {
    .collective = Collective::gather,
    .name = "sequential",
    .summary = "the root signals one rank after the other to send",
    .source = "Kaiser et al. 2009, section 3.1",
    .parameters = sequential_parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
