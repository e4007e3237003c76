// Allgather by recursive doubling: exchanges with the ranks 1, 2, 4, ... away, each of all blocks so far.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.1.
//
// The blocks that a rank has before a step belong to an aligned run of ranks. They are adjacent in out, and
// nothing is packed.
#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::allgather {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    if (floor_power_of_two(problem.ranks) != problem.ranks) {
        return Verdict::no("the number of ranks is not a power of two");
    }
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    // The blocks that rank `of` has before the exchange over this distance.
    const auto run = [&](int of, int distance) {
        const int first = of & ~(distance - 1);
        return out(static_cast<std::uint64_t>(first) * problem.bytes,
                   static_cast<std::uint64_t>(distance) * problem.bytes);
    };
    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ceil_log2(ranks)) + 1);
    for (int distance = 1; distance < ranks; distance *= 2) {
        const int peer = rank ^ distance;
        list.recv(peer, run(peer, distance));
    }
    const Span own = block_to(problem, rank, rank);
    if (ranks > 1) list.send(rank ^ 1, own);
    list.copy(block_from(problem, rank, rank), own);
    for (int distance = 1; distance < ranks; distance *= 2) {
        const int peer = rank ^ distance;
        if (distance > 1) list.send(peer, run(rank, distance));
        list.wait(peer);
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task) +
           (problem.ranks - 1) * bytes * machine.per_byte;
}

}  // namespace

const Algorithm recursive_doubling = {
    .summary = "exchange all blocks received so far with the rank 1, 2, 4, ... away",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::allgather
