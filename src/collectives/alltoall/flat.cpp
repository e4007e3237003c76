// Alltoall without order: every rank posts all its sends and receives and waits for them.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.2 (flat tree).
#include <algorithm>

#include "collectives/algorithm.hpp"
#include "collectives/arithmetic.hpp"
#include "task/builder.hpp"

namespace lapwing::alltoall {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const auto block = [&](int r) { return static_cast<std::uint64_t>(r) * problem.bytes; };
    // Each rank begins with its neighbour, so that not all send to rank 0 first.
    const auto peer = [&](int distance) { return absolute_rank(distance, rank, ranks); };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(ranks));
    for (int d = 1; d < ranks; ++d) list.recv(peer(ranks - d), out(block(peer(ranks - d)), problem.bytes));
    for (int d = 1; d < ranks; ++d) list.send(peer(d), in(block(peer(d)), problem.bytes));
    list.copy(out(block(rank), problem.bytes), in(block(rank), problem.bytes));
    for (int d = 1; d < ranks; ++d) list.wait(peer(ranks - d));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes) * (problem.ranks - 1);
    // What arrives from many ranks at once beyond the network's buffers is dropped or held up and costs again
    // ("it will easily choke the network", Kandalla et al. 2011, P3DFFT, section IV-B).
    const double crowded = problem.ranks > 2 ? std::max(0.0, bytes - machine.buffer) : 0;
    return machine.latency + (problem.ranks - 1) * 2 * machine.task + bytes * machine.per_byte +
           0.25 * crowded * machine.per_byte;
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::alltoall,
    .name = "flat",
    .summary = "start all sends and receives at once",
    .source = "Kaiser et al. 2009, section 3.2",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::alltoall
