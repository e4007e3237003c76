// Scan along a chain of the ranks: each adds its input to what the rank below has, and hands that on. Each
// byte is sent and combined once for each rank, which is the least that is possible. MPI Forum, "MPI: A
// Message-Passing Interface Standard", which defines the collective so.
#include "collectives/algorithm.hpp"
#include "collectives/reduce/combine.hpp"

namespace lapwing::scan {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return reduce::within_scratch(problem.bytes, 1);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);
    Builder list(problem, rank, 5);
    if (rank == 0) {
        list.copy(result, own);
    } else {
        const bool lands = !problem.in_place && reduce::may_land(problem, true);
        const Span arrival = lands ? result : list.scratch(problem.bytes);
        list.recv(rank - 1, arrival);
        list.wait(rank - 1);
        reduce::combine_into(list, problem, result, own, arrival, true);
    }
    if (rank + 1 < problem.ranks) list.send(rank + 1, result);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return (problem.ranks - 1) *
           (machine.latency + 2 * machine.task + bytes * (machine.per_byte + machine.copy_per_byte));
}

}  // namespace

extern const Algorithm linear;
const Algorithm linear = {
    .collective = Collective::scan,
    .name = "linear",
    .summary = "each rank adds its input to what the rank below has, and hands it on",
    .source = "MPI standard, the definition of MPI_Scan",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::few,
};

}  // namespace lapwing::scan
