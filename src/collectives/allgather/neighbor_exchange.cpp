// Allgather by neighbor exchange, for an even number of ranks: half as many steps as the ring has, and every
// rank communicates only with its two neighbours.
// Chen, Zhang, Zhang, Yuan 2005, "Performance Evaluation of Allgather Algorithms on Terascale Linux Cluster
// with Fast Ethernet".
//
// Ranks 2i and 2i + 1 are a pair, and their blocks travel together. The two ranks first exchange their
// blocks. Then each exchanges the two blocks that it received last with the neighbour outside and inside the
// pair, in turn.
#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::allgather {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    if (problem.ranks % 2 != 0) return Verdict::no("the number of ranks is odd");
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int pairs = ranks / 2;
    const bool even = rank % 2 == 0;
    const int inside = even ? rank + 1 : rank - 1;
    const int outside = even ? absolute_rank(ranks - 1, rank, ranks) : absolute_rank(1, rank, ranks);
    const auto peer = [&](int step) { return step % 2 == 0 ? inside : outside; };
    // The blocks that arrive in a step after the first: of the next pair on the side of the sending
    // neighbour.
    const auto blocks = [&](int step) {
        const int distance = (step + 1) / 2;
        const bool upwards = (peer(step) == inside) == even;
        const int pair = absolute_rank(upwards ? distance : pairs - distance, rank / 2, pairs);
        return out(static_cast<std::uint64_t>(pair) * 2 * problem.bytes, 2 * problem.bytes);
    };

    Builder list(problem, rank, 3 * static_cast<std::uint64_t>(pairs) + 1);
    list.recv(inside, block_from(problem, rank, inside));
    for (int step = 1; step < pairs; ++step) list.recv(peer(step), blocks(step));
    const Span own = block_to(problem, rank, rank);
    list.send(inside, own);
    list.copy(block_from(problem, rank, rank), own);
    list.wait(inside);
    for (int step = 1; step < pairs; ++step) {
        list.send(peer(step), blocks(step - 1));
        list.wait(peer(step));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return problem.ranks / 2 * (machine.latency + 2 * machine.task) +
           (problem.ranks - 1) * bytes * machine.per_byte;
}

}  // namespace

const Algorithm neighbor_exchange = {
    .summary = "exchange the two blocks received last with both neighbours in turn",
    .source = "Chen et al. 2005",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::numbers,
};

}  // namespace lapwing::allgather
