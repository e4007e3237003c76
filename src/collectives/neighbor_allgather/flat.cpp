// Every rank sends all its neighbours one block, and waits for theirs. A rank that knows no more of the
// graph than its own neighbours has nothing to save messages by.
// Hoefler, Traeff 2009, "Sparse collective operations for MPI".
#include "collectives/neighbor_alltoall/direct.hpp"

namespace lapwing::neighbor_allgather {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return neighbor_alltoall::build_flat(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return neighbor_alltoall::cost_of_flat(problem, machine);
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::neighbor_allgather,
    .name = "flat",
    .summary = "send the block to all neighbours at once",
    .source = "Hoefler, Traeff 2009",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::neighbor_allgather
