// Alltoall of blocks of several lengths, without order: every rank posts all its sends and receives and
// waits for them.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.2 (flat tree).
#include "collectives/alltoall/exchange.hpp"
#include "collectives/alltoallv/default_block.hpp"

namespace lapwing::alltoallv {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return alltoall::build_flat(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return alltoall::cost_of_flat(problem.ranks, default_block, machine);
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::alltoallv,
    .name = "flat",
    .summary = "start all sends and receives at once",
    .source = "Kaiser et al. 2009, section 3.2",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::alltoallv
