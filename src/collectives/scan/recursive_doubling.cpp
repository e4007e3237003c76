// Scan and exscan by recursive doubling: all ranks in a logarithmic number of steps.
// Hillis, Steele 1986, "Data parallel algorithms" (all partial sums of an array).
//
// In step k each rank sends what it has combined, of the 2^k ranks up to itself, to the rank 2^k above.
// Arrivals always come from lower ranks, and these are neighbours of the ranks combined so far: rank order is
// kept. An exscan combines its result, which excludes the rank's own input, apart from what it sends.
#include "collectives/arithmetic.hpp"
#include "collectives/reduction/combine.hpp"

namespace lapwing::scan {
namespace {

using namespace reduction;

Verdict applies(const Problem& problem, const Parameters&) {
    return within_scratch(problem.bytes, 2 * static_cast<std::uint64_t>(ceil_log2(problem.ranks)) + 2);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int steps = ceil_log2(ranks);
    const int receives = ceil_log2(rank + 1);  // after these the rank has its result
    const bool exclusive = problem.collective == Collective::exscan;
    const Span own = input(problem, rank, 0, problem.bytes);
    const Span result = exclusive && rank == 0 ? Span{} : out(0, problem.bytes);

    Builder list(problem, rank, 5 * static_cast<std::uint64_t>(steps) + 2);
    std::vector<Span> arrivals;
    for (int step = 0; step < receives; ++step) {
        const bool lands = exclusive ? step == 0 : step + 1 == receives && may_land(problem, true);
        arrivals.push_back(lands && !problem.in_place ? result : list.scratch(problem.bytes));
        list.recv(rank - (1 << step), arrivals.back());
    }
    const auto sends = [&](int step) { return step < steps && 1 << step < ranks - rank; };
    Span held = exclusive && sends(0) ? sendable(list, own, result) : own;
    for (int step = 0; step < steps; ++step) {
        if (sends(step)) {
            const bool overwritten = !exclusive && step < receives;
            list.send(rank + (1 << step), overwritten ? sendable(list, held, result) : held);
        }
        if (step >= receives) continue;
        const Span arrival = arrivals[static_cast<std::size_t>(step)];
        list.wait(rank - (1 << step));
        if (!exclusive) {
            if (step + 1 < receives) {
                held = combine(list, problem, held, arrival, true);
            } else {
                combine_into(list, problem, result, held, arrival, true);
                held = result;
            }
            continue;
        }
        if (step == 0) {
            list.copy(result, arrival);
        } else {
            list.reduce(result, arrival);
        }
        if (!sends(step + 1)) continue;
        if (arrival == result) {
            const Span sum = list.scratch(problem.bytes);
            combine_into(list, problem, sum, held, arrival, true);
            held = sum;
        } else {
            held = combine(list, problem, held, arrival, true);
        }
    }
    if (!exclusive) list.copy(result, held);
    return list.finish();
}

// An exscan combines each arrival twice: into its result, and into what it sends.
double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    const double combinations = problem.collective == Collective::exscan ? 2 : 1;
    return ceil_log2(problem.ranks) * (machine.latency + 2 * machine.task +
                                       bytes * (machine.per_byte + combinations * machine.copy_per_byte));
}

}  // namespace

const Algorithm recursive_doubling = {
    .summary = "send partial results to the rank 1, 2, 4, ... above",
    .source = "Hillis, Steele 1986",
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scan
