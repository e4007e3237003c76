// Alltoall and allgather without order: every rank starts all its sends and receives, and waits for them.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.2 (flat tree); Hoefler, Lumsdaine, Rehm 2007, "Implementation and Performance Analysis of
// Non-Blocking Collective Operations for MPI" (the allgather of LibNBC).
#include "collectives/alltoall/exchange.hpp"
#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"

namespace lapwing::alltoall {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    // Each rank begins with its neighbour, so that not all send to rank 0 first.
    const auto peer = [&](int distance) { return absolute_rank(distance, rank, ranks); };

    Exchange list(problem, rank);
    for (int d = 1; d < ranks; ++d) list.recv(peer(ranks - d));
    for (int d = 1; d < ranks; ++d) list.send(peer(d));
    list.copy_own();
    for (int d = 1; d < ranks; ++d) list.wait(peer(ranks - d));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const int ranks = problem.ranks;
    const double all = longest_block(problem) * (ranks - 1);
    // Bytes that arrive from many ranks at once and exceed the network's buffers are dropped or held up, and
    // cost again ("it will easily choke the network", Kandalla et al. 2011, P3DFFT, section IV-B).
    const double crowded = ranks > 2 ? std::max(0.0, all - machine.buffer) : 0;
    return machine.latency + (ranks - 1) * 2 * machine.task + all * machine.per_byte +
           0.25 * crowded * machine.per_byte;
}

}  // namespace

const Algorithm flat = {
    .summary = "start all sends and receives at once",
    .source = "Kaiser et al. 2009, section 3.2; Hoefler, Lumsdaine, Rehm 2007",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::alltoall
