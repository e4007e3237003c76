// Alltoall around a ring: every rank communicates only with its two neighbours. On a ring or torus whose
// order the ranks follow, no two messages then share a link. Kaiser et al. 2009, "Implementation and Analysis
// of Nonblocking Collective Operations on SCI Networks", section 3.2, after Huse 1999, "Collective
// Communication on Dedicated Clusters of Workstations".
//
// In step s each rank sends the blocks that started s - 1 ranks below it to the rank above. That rank keeps
// the first block and sends the rest on in the next step.
#include <vector>

#include "collectives/ring.hpp"
#include "collectives/rows.hpp"
#include "collectives/scratch.hpp"
#include "task/builder.hpp"

namespace lapwing::alltoall {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    const std::uint64_t ranks = static_cast<std::uint64_t>(problem.ranks);
    if (problem.bytes > max_scratch / ranks / ranks * 2) {
        return Verdict::no("the blocks in transit need more than 1 GiB of scratch");
    }
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const std::uint64_t bytes = problem.bytes;
    const auto blocks = [&](int count) { return static_cast<std::uint64_t>(count) * bytes; };
    const Ring ring(problem, rank);
    const int above = ring.above(1);
    const int below = ring.below(1);

    Builder list(problem, rank, 4 * static_cast<std::uint64_t>(ranks));
    // This rank's blocks, the nearest destination first: the message of step 1.
    const Span own = ranks > 1 ? list.scratch(blocks(ranks - 1)) : Span{};
    std::vector<Span> arrivals;  // of step s: this rank's block from the rank s below, then blocks to send on
    for (int step = 1; step < ranks; ++step) {
        arrivals.push_back(list.scratch(blocks(ranks - step)));
        list.recv(below, arrivals.back());
    }
    // One copy for ranks with consecutive numbers.
    for (int begin = 1, end = 1; begin < ranks; begin = end) {
        const int first = ring.above(begin);
        do ++end;
        while (end < ranks && ring.above(end) == first + end - begin);
        list.copy(own.part(blocks(begin - 1), blocks(end - begin)), in(blocks(first), blocks(end - begin)));
    }
    if (ranks > 1) list.send(above, own);
    list.copy(out(blocks(rank), bytes), in(blocks(rank), bytes));
    for (int step = 1; step < ranks; ++step) {
        const Span& arrival = arrivals[static_cast<std::size_t>(step - 1)];
        list.wait(below);
        if (step + 1 < ranks) list.send(above, arrival.part(bytes, arrival.length - bytes));
        list.copy(out(blocks(ring.below(step)), bytes), arrival.part(0, bytes));
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double steps = problem.ranks - 1;
    const double moved = static_cast<double>(problem.bytes) * steps * problem.ranks / 2;
    const double copied = static_cast<double>(problem.bytes) * 2 * steps;
    return steps * (machine.latency + 2 * machine.task + machine.copy) + moved * machine.per_byte +
           copied * machine.copy_per_byte;
}

}  // namespace

const Algorithm ring = {
    .summary = "pass blocks from neighbour to neighbour around the ring of ranks",
    .source = "Kaiser et al. 2009, section 3.2, after Huse 1999",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::ring,
};

}  // namespace lapwing::alltoall
