// Barrier by dissemination, for any number of ranks without extra ones.
// Hensgen, Finkel, Manber 1988, "Two algorithms for barrier synchronization", section 3.
//
// In step k each rank signals the rank 2^k above it and waits for the one 2^k below it, modulo the group.
#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::barrier {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const std::int64_t ranks = problem.ranks;
    const auto above = [&](std::int64_t distance) { return static_cast<int>((rank + distance) % ranks); };
    const auto below = [&](std::int64_t distance) {
        return static_cast<int>((rank - distance + ranks) % ranks);
    };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ceil_log2(problem.ranks)));
    for (std::int64_t distance = 1; distance < ranks; distance *= 2) list.recv(below(distance));
    for (std::int64_t distance = 1; distance < ranks; distance *= 2) {
        list.send(above(distance));
        list.wait(below(distance));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task);
}

}  // namespace

const Algorithm dissemination = {
    .summary = "signal the rank 1, 2, 4, ... above, wait for the one as far below",
    .source = "Hensgen, Finkel, Manber 1988, section 3",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::barrier
