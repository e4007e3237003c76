// Exclusive scan by recursive doubling: all ranks in a logarithmic number of steps.
// Hillis, Steele 1986, "Data parallel algorithms" (all partial sums of an array).
//
// As in the scan, what travels includes the sender's input; what a rank has received it combines apart from
// its own.
#include "collectives/algorithm.hpp"
#include "collectives/arithmetic.hpp"
#include "collectives/reduce/combine.hpp"

namespace lapwing::exscan {
namespace {

Verdict applies(const Problem& problem, const Parameters&) {
    return reduce::within_scratch(problem.bytes,
                                  2 * static_cast<std::uint64_t>(ceil_log2(problem.ranks)) + 2);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int steps = ceil_log2(ranks);
    const int receives = ceil_log2(rank + 1);
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = rank == 0 ? Span{} : out(0, problem.bytes);  // rank 0 has none

    Builder list(problem, rank, 5 * static_cast<std::uint64_t>(steps) + 2);
    std::vector<Span> arrivals;
    for (int step = 0; step < receives; ++step) {
        arrivals.push_back(step == 0 && !problem.in_place ? result : list.scratch(problem.bytes));
        list.recv(rank - (1 << step), arrivals.back());
    }
    const auto sends = [&](int step) { return step < steps && 1 << step < ranks - rank; };
    Span held = sends(0) ? reduce::sendable(list, own, result) : own;
    for (int step = 0; step < steps; ++step) {
        if (sends(step)) list.send(rank + (1 << step), held);
        if (step >= receives) continue;
        const Span arrival = arrivals[static_cast<std::size_t>(step)];
        list.wait(rank - (1 << step));
        if (step == 0) {
            list.copy(result, arrival);
        } else {
            list.reduce(result, arrival);
        }
        if (!sends(step + 1)) continue;
        if (arrival == result) {
            const Span sum = list.scratch(problem.bytes);
            reduce::combine_into(list, problem, sum, held, arrival, true);
            held = sum;
        } else {
            held = reduce::combine(list, problem, held, arrival, true);
        }
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return ceil_log2(problem.ranks) *
           (machine.latency + 2 * machine.task + bytes * (machine.per_byte + 2 * machine.copy_per_byte));
}

}  // namespace

extern const Algorithm recursive_doubling;
const Algorithm recursive_doubling = {
    .collective = Collective::exscan,
    .name = "recursive_doubling",
    .summary = "send partial results to the rank 1, 2, 4, ... above",
    .source = "Hillis, Steele 1986",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::exscan
