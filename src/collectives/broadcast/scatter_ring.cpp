// Broadcast of large data: scatter along a binomial tree, then allgather around a ring.
// Kandalla et al. 2011, "Designing Non-blocking Broadcast with Collective Offload on InfiniBand Clusters:
// A Case Study with HPL" (large messages); Thakur, Rabenseifner, Gropp 2005, section 4.2.
//
// In step s each rank passes the chunk that it got in step s - 1 to the rank above it. A chunk that the
// receiver holds already from the scatter is not sent again, so the root receives nothing.
#include "collectives/broadcast/scatter_tree.hpp"
#include "collectives/ring.hpp"
#include "collectives/rows.hpp"

namespace lapwing::broadcast {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const Ring ring(problem, problem.root);
    const int relative = ring.distance(rank);
    const auto absolute = [&](int r) { return ring.above(r); };
    const ScatterTree tree(problem.bytes, ranks, relative);
    const auto wrapped = [&](int chunk) { return chunk < 0 ? chunk + ranks : chunk; };
    const auto moves = [&](int chunk, int receiver) {
        return !tree.holds(receiver, chunk) && tree.chunks(chunk, chunk + 1).length > 0;
    };
    const int above = relative + 1 == ranks ? 0 : relative + 1;
    const int below = wrapped(relative - 1);

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ranks) + 32);
    tree.offer(list, absolute);
    for (int step = 1; step < ranks; ++step) {
        const int chunk = wrapped(relative - step);
        if (moves(chunk, relative)) list.recv(absolute(below), tree.chunks(chunk, chunk + 1));
    }
    tree.pass_on(list, absolute);
    for (int step = 1; step < ranks; ++step) {
        const int sent = wrapped(relative - step + 1);
        const int received = wrapped(relative - step);
        if (moves(sent, above)) list.send(absolute(above), tree.chunks(sent, sent + 1));
        if (moves(received, relative)) list.wait(absolute(below));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    const double chunk = bytes / problem.ranks;
    const double scatter =
        ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task) + (bytes - chunk) * machine.per_byte;
    return scatter + (problem.ranks - 1) * (machine.latency + 2 * machine.task + chunk * machine.per_byte);
}

}  // namespace

const Algorithm scatter_ring = {
    .summary = "scatter chunks along a binomial tree, then pass them around a ring",
    .source = "Kandalla et al. 2011 (HPL), large messages",
    .build = build,
    .cost = cost,
    .paths = Paths::ring,
};

}  // namespace lapwing::broadcast
