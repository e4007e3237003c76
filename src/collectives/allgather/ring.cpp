// Allgather around a ring: in each step every rank passes the block that it received last to the rank above.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.1.
#include "collectives/ring.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::allgather {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const Ring ring(problem, rank);
    const int above = ring.above(1);
    const int below = ring.below(1);
    // The block that arrives in a step; it is sent in the next step.
    const auto block = [&](int step) { return block_from(problem, rank, ring.below(step)); };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ranks));
    for (int step = 1; step < ranks; ++step) {
        if (block(step).length > 0) list.recv(below, block(step));
    }
    const Span own = block_to(problem, rank, rank);
    if (ranks > 1 && own.length > 0) list.send(above, own);
    list.copy(block(0), own);
    for (int step = 1; step < ranks; ++step) {
        if (block(step).length == 0) continue;
        list.wait(below);
        if (step + 1 < ranks) list.send(above, block(step));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return (problem.ranks - 1) *
           (machine.latency + 2 * machine.task + longest_block(problem) * machine.per_byte);
}

}  // namespace

const Algorithm ring = {
    .summary = "pass blocks from neighbour to neighbour around the ring of ranks",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .build = build,
    .cost = cost,
    .paths = Paths::ring,
};

}  // namespace lapwing::allgather
