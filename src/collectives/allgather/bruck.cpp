// Allgather by Bruck's algorithm: log2(ranks) messages for any number of ranks. For short blocks.
// Bruck et al. 1997, "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", section 4 (concatenation); Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective
// Communication Operations in MPICH", section 4.1.
//
// Before step k a rank has the blocks of the 2^k ranks from itself upwards. It hands them to the rank 2^k
// below, and gets those of the next 2^k ranks from the rank 2^k above.
#include "collectives/allgather/any_lengths.hpp"

namespace lapwing::allgather {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return bruck_applies(problem);
}

List build(const Problem& problem, int rank, const Parameters&) {
    return build_bruck(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_of_bruck(problem, machine);
}

}  // namespace

extern const Algorithm bruck;
const Algorithm bruck = {
    .collective = Collective::allgather,
    .name = "bruck",
    .summary = "hand all blocks held so far to the rank 1, 2, 4, ... below",
    .source = "Bruck et al. 1997, section 4; Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allgather
