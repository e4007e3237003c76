// Exclusive scan along a chain of the ranks: each keeps what arrives, and hands it on with its input added.
// MPI Forum, "MPI: A Message-Passing Interface Standard", which defines the collective so.
#include "collectives/algorithm.hpp"
#include "collectives/reduce/combine.hpp"

namespace lapwing::exscan {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return reduce::within_scratch(problem.bytes, 2);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const Span own = input(problem, rank, 0, problem.bytes);
    const bool sends = rank + 1 < problem.ranks;
    Builder list(problem, rank, 6);
    if (rank == 0) {
        if (sends) list.send(1, own);
        return list.finish();
    }
    const Span result = out(0, problem.bytes);
    const Span arrival = problem.in_place ? list.scratch(problem.bytes) : result;
    list.recv(rank - 1, arrival);
    list.wait(rank - 1);
    if (sends) {
        const Span sum = list.scratch(problem.bytes);
        reduce::combine_into(list, problem, sum, own, arrival, true);
        list.send(rank + 1, sum);
    }
    list.copy(result, arrival);
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
    .collective = Collective::exscan,
    .name = "linear",
    .summary = "each rank keeps what arrives from the rank below, and hands it on with its input added",
    .source = "MPI standard, the definition of MPI_Exscan",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::few,
};

}  // namespace lapwing::exscan
