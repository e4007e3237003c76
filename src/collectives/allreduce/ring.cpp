// Allreduce around a ring: a reduce-scatter, then an allgather. For very long vectors: every rank sends the
// minimum number of bytes, for any number of ranks. Chan et al. 2007, "Collective communication: theory,
// practice, and experience" (the bucket algorithm); Patarasuk, Yuan 2009, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations".
#include "collectives/reduction/ring_pass.hpp"
#include "collectives/rows.hpp"

namespace lapwing::allreduce {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    const Verdict fits = within_scratch(problem.bytes, 3);
    return fits ? reduction::ring_keeps_order(problem) : fits;
}

List build(const Problem& problem, int rank, const Parameters&) {
    const VectorBlocks blocks(problem.bytes, problem.element_bytes(), problem.ranks);
    reduction::RingPass ring(blocks, rank);
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);

    Builder list(problem, rank, 7 * static_cast<std::uint64_t>(problem.ranks));
    // Where the blocks of the result are collected: not in out while the input lies there.
    const Span memory = problem.in_place && problem.ranks > 1 ? list.scratch(problem.bytes) : result;
    ring.offer(list, blocks.of(memory, rank));
    for (int step = 1; step < problem.ranks; ++step) {
        const Span arrival = blocks.of(memory, ring.block(step));
        if (arrival.length > 0) list.recv(ring.below(), arrival);
    }
    list.copy(blocks.of(memory, rank), ring.run(list, own, result));
    for (int step = 1; step < problem.ranks; ++step) {
        const Span sent = blocks.of(memory, ring.block(step - 1));
        if (sent.length > 0) list.send(ring.above(), sent);
        if (blocks.bytes(ring.block(step)) > 0) list.wait(ring.below());
    }
    list.copy(result, memory);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double block = static_cast<double>(problem.bytes) / problem.ranks;
    return reduction::cost_of_ring_pass(block, problem.ranks, machine) +
           (problem.ranks - 1) * (machine.latency + 2 * machine.task + block * machine.per_byte);
}

}  // namespace

const Algorithm ring = {
    .summary = "reduce and scatter blocks once around a ring, then pass the results around it",
    .source = "Chan et al. 2007; Patarasuk, Yuan 2009",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::numbers,
};

}  // namespace lapwing::allreduce
