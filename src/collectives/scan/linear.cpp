// Scan and exscan along a chain of the ranks: each rank receives the result of the ranks below, adds its
// input and sends the sum on. Each byte is sent and combined once for each rank, which is the minimum. MPI
// Forum, "MPI: A Message-Passing Interface Standard", which defines both collectives in this way.
#include "collectives/reduction/combine.hpp"

namespace lapwing::scan {
namespace {

using namespace reduction;

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, problem.collective == Collective::exscan ? 2 : 1);
}

List build_scan(const Problem& problem, int rank) {
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);
    Builder list(problem, rank, 5);
    if (rank == 0) {
        list.copy(result, own);
    } else {
        const bool lands = !problem.in_place && may_land(problem, true);
        const Span arrival = lands ? result : list.scratch(problem.bytes);
        list.recv(rank - 1, arrival);
        list.wait(rank - 1);
        combine_into(list, problem, result, own, arrival, true);
    }
    if (rank + 1 < problem.ranks) list.send(rank + 1, result);
    return list.finish();
}

// A rank's result is the arrival itself.
List build_exscan(const Problem& problem, int rank) {
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
        combine_into(list, problem, sum, own, arrival, true);
        list.send(rank + 1, sum);
    }
    list.copy(result, arrival);
    return list.finish();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return problem.collective == Collective::exscan ? build_exscan(problem, rank) : build_scan(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return (problem.ranks - 1) *
           (machine.latency + 2 * machine.task + bytes * (machine.per_byte + machine.copy_per_byte));
}

}  // namespace

const Algorithm linear = {
    .summary = "each rank adds its input to the sum from the rank below, and sends it on",
    .source = "MPI standard, the definitions of MPI_Scan and MPI_Exscan",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::single,
};

}  // namespace lapwing::scan
