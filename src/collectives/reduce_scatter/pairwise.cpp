// Reduce-scatter by pairwise exchange: each rank sends each other its block, and combines what it has
// received. For long vectors, and for operators that do not commute. Bernaschi, Iannello 1998, "Collective
// Communication Operations: Experimental Results vs. Theory"; Thakur, Rabenseifner, Gropp 2005, "Optimization
// of Collective Communication Operations in MPICH", section 4.3.
//
// In step s each rank sends to the rank s above and receives from the rank s below. A window is a batch of
// steps: its sends, then its waits. Everything is combined at the end, so the exchange itself needs no
// processor.
#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"
#include "collectives/vector_blocks.hpp"

namespace lapwing::reduce_scatter {
namespace {

constexpr Parameter parameters[] = {
    {"window", "steps in flight at the same time, each with one send", 4, 1, 1 << 20}};

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(VectorBlocks(problem).largest(), static_cast<std::uint64_t>(problem.ranks) + 1);
}

List build(const Problem& problem, int rank, const Parameters& values) {
    const int ranks = problem.ranks;
    const VectorBlocks blocks(problem);
    const Span all = input(problem, rank, 0, blocks.total());
    const Span own = blocks.of(all, rank);
    const Span result = out(0, own.length);
    const int window = static_cast<int>(std::min<std::int64_t>(values[0], ranks));
    const auto above = [&](int step) { return absolute_rank(step, rank, ranks); };
    const auto below = [&](int step) { return absolute_rank(ranks - step, rank, ranks); };

    Builder list(problem, rank, 4 * static_cast<std::uint64_t>(ranks));
    if (own.length == 0) {
        for (int step = 1; step < ranks; ++step) {
            if (blocks.bytes(above(step)) > 0) list.send(above(step), blocks.of(all, above(step)));
        }
        return list.finish();
    }
    reduction::Contributions contributions(list, problem.ordered, own, result, static_cast<std::size_t>(rank),
                                           static_cast<std::size_t>(ranks - 1));
    for (int step = 1; step < ranks; ++step) {
        const int peer = below(step);
        list.recv(peer, contributions.of(static_cast<std::size_t>(peer < rank ? peer : peer - 1)));
    }
    for (int first = 1; first < ranks; first += window) {
        const int end = std::min(ranks, first + window);
        for (int step = first; step < end; ++step) {
            const Span sent = blocks.of(all, above(step));
            if (sent.length > 0) list.send(above(step), reduction::sendable(list, sent, result));
        }
        for (int step = first; step < end; ++step) list.wait(below(step));
    }
    list.copy(result, contributions.combine(list));
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    const double steps = problem.ranks - 1;
    const double bytes = static_cast<double>(VectorBlocks(problem).largest());
    const auto windows = static_cast<double>((problem.ranks - 2 + values[0]) / values[0]);
    return windows * machine.latency +
           steps * (2 * machine.task + bytes * (machine.per_byte + machine.copy_per_byte));
}

}  // namespace

const Algorithm pairwise = {
    .summary = "exchange with one peer after the other, a window of them at a time, then combine",
    .source = "Bernaschi, Iannello 1998; Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .parameters = parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::reduce_scatter
