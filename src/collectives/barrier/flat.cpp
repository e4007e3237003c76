// Barrier in one step: every rank signals every other rank. For few ranks: once the barrier is started, no
// rank needs the progress of another to complete.
// Hoefler, Lumsdaine, Rehm 2007, "Implementation and Performance Analysis of Non-Blocking Collective
// Operations for MPI".
#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::barrier {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const auto above = [&](int distance) { return absolute_rank(distance, rank, ranks); };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ranks));
    for (int d = 1; d < ranks; ++d) list.recv(above(ranks - d));
    for (int d = 1; d < ranks; ++d) list.send(above(d));
    for (int d = 1; d < ranks; ++d) list.wait(above(ranks - d));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return problem.ranks == 1 ? 0 : machine.latency + (problem.ranks - 1) * 2 * machine.task;
}

}  // namespace

const Algorithm flat = {
    .summary = "every rank signals every other rank, in one step",
    .source = "Hoefler, Lumsdaine, Rehm 2007",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::barrier
