// Allgather of blocks of several lengths by Bruck's algorithm: log2(ranks) messages for any number of ranks.
// For short blocks, and where few ranks have most of the bytes: a long block travels log2(ranks) times one
// after the other, not around the whole ring.
// Bruck et al. 1997, "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", section 4 (concatenation); Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective
// Communication Operations in MPICH", section 4.1.
#include "collectives/allgather/any_lengths.hpp"

namespace lapwing::allgatherv {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return allgather::bruck_applies(problem);
}

List build(const Problem& problem, int rank, const Parameters&) {
    return allgather::build_bruck(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return allgather::cost_of_bruck(problem, machine);
}

}  // namespace

extern const Algorithm bruck;
const Algorithm bruck = {
    .collective = Collective::allgatherv,
    .name = "bruck",
    .summary = "hand all blocks held so far to the rank 1, 2, 4, ... below",
    .source = "Bruck et al. 1997, section 4; Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allgatherv
