// Allgather of blocks of several lengths, without order: every rank sends its block to all others at once.
// Hoefler, Lumsdaine, Rehm 2007, "Implementation and Performance Analysis of Non-Blocking Collective
// Operations for MPI" (what LibNBC does).
#include "collectives/allgather/any_lengths.hpp"
#include "collectives/alltoall/exchange.hpp"

namespace lapwing::allgatherv {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return alltoall::build_flat(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return allgather::cost_of_flat(problem, machine);
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::allgatherv,
    .name = "flat",
    .summary = "all ranks send to all others at once",
    .source = "Hoefler, Lumsdaine, Rehm 2007",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allgatherv
