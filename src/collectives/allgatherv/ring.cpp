// Allgather of blocks of several lengths around a ring: in each step every rank hands the block that it got
// last to the rank above.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.1.
#include "collectives/allgather/any_lengths.hpp"

namespace lapwing::allgatherv {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return allgather::build_ring(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return allgather::cost_of_ring(problem, machine);
}

}  // namespace

extern const Algorithm ring;
const Algorithm ring = {
    .collective = Collective::allgatherv,
    .name = "ring",
    .summary = "hand blocks from neighbour to neighbour around the ring of ranks",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::ring,
};

}  // namespace lapwing::allgatherv
