// Scan by recursive doubling: all ranks in a logarithmic number of steps.
// Hillis, Steele 1986, "Data parallel algorithms" (all partial sums of an array).
//
// In step k each rank sends what it has combined, of the 2^k ranks up to itself, to the rank 2^k above. What
// arrives comes from lower ranks always, and from their neighbours: rank order is kept.
#include "collectives/algorithm.hpp"
#include "collectives/arithmetic.hpp"
#include "collectives/reduce/combine.hpp"

namespace lapwing::scan {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return reduce::within_scratch(problem.bytes,
                                  2 * static_cast<std::uint64_t>(ceil_log2(problem.ranks)) + 2);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int steps = ceil_log2(ranks);
    const int receives = ceil_log2(rank + 1);  // after them the rank has its result
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = out(0, problem.bytes);

    Builder list(problem, rank, 5 * static_cast<std::uint64_t>(steps) + 2);
    std::vector<Span> arrivals;
    for (int step = 0; step < receives; ++step) {
        const bool lands = step + 1 == receives && !problem.in_place && reduce::may_land(problem, true);
        arrivals.push_back(lands ? result : list.scratch(problem.bytes));
        list.recv(rank - (1 << step), arrivals.back());
    }
    Span held = own;
    for (int step = 0; step < steps; ++step) {
        const int distance = 1 << step;
        if (distance < ranks - rank) {
            list.send(rank + distance, step < receives ? reduce::sendable(list, held, result) : held);
        }
        if (step >= receives) continue;
        const Span arrival = arrivals[static_cast<std::size_t>(step)];
        list.wait(rank - distance);
        if (step + 1 < receives) {
            held = reduce::combine(list, problem, held, arrival, true);
        } else {
            reduce::combine_into(list, problem, result, held, arrival, true);
            held = result;
        }
    }
    list.copy(result, held);
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return ceil_log2(problem.ranks) *
           (machine.latency + 2 * machine.task + bytes * (machine.per_byte + machine.copy_per_byte));
}

}  // namespace

extern const Algorithm recursive_doubling;
const Algorithm recursive_doubling = {
    .collective = Collective::scan,
    .name = "recursive_doubling",
    .summary = "send partial results to the rank 1, 2, 4, ... above",
    .source = "Hillis, Steele 1986",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scan
