// Barrier by recursive doubling, with extra ranks when their number is no power of two.
// Graham et al. 2010, "Overlapping Computation and Communication: Barrier Algorithms and ConnectX-2
// CORE-Direct Capabilities", section IV.
//
// N is the largest power of two that fits. Rank r >= N is an extra rank: it signals r - N, which takes part
// for both and signals back at the end. In step l of the others, each exchanges signals with the rank 2^l
// away.
#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::barrier {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int core = floor_power_of_two(problem.ranks);
    if (rank >= core) {
        Builder extra(problem, rank, 3);
        extra.recv(rank - core);
        extra.send(rank - core);
        extra.wait(rank - core);
        return extra.finish();
    }
    const bool has_extra = rank + core < problem.ranks;
    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ceil_log2(core)) + 3);
    if (has_extra) list.recv(rank + core);
    for (int distance = 1; distance < core; distance *= 2) list.recv(rank ^ distance);
    if (has_extra) list.wait(rank + core);
    for (int distance = 1; distance < core; distance *= 2) {
        list.send(rank ^ distance);
        list.wait(rank ^ distance);
    }
    if (has_extra) list.send(rank + core);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const int core = floor_power_of_two(problem.ranks);
    const int steps = ceil_log2(core) + (core < problem.ranks ? 2 : 0);
    return steps * (machine.latency + 2 * machine.task);
}

}  // namespace

const Algorithm recursive_doubling = {
    .summary = "exchange with the rank 1, 2, 4, ... away; extra ranks before and after",
    .source = "Graham et al. 2010, section IV",
    .build = build,
    .cost = cost,
    .paths = Paths::doubling,
};

}  // namespace lapwing::barrier
