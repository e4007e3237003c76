// Gather with a flat tree: all ranks send to the root at the same time, without any coordination.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
#include "collectives/algorithm.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    if (rank != problem.root) {
        Builder list(problem, rank, 1);
        list.send(problem.root, in(0, problem.bytes));
        return list.finish();
    }
    const auto block = [&](int r) {
        return out(static_cast<std::uint64_t>(r) * problem.bytes, problem.bytes);
    };
    Builder list(problem, rank, 2 * static_cast<std::uint64_t>(problem.ranks));
    for (int r = 0; r < problem.ranks; ++r) {
        if (r != rank) list.recv(r, block(r));
    }
    if (!problem.in_place) list.copy(block(rank), in(0, problem.bytes));
    for (int r = 0; r < problem.ranks; ++r) {
        if (r != rank) list.wait(r);
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return machine.latency + (problem.ranks - 1) * (machine.task + bytes * machine.per_byte);
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::gather,
    .name = "flat",
    .summary = "all ranks send to the root at the same time",
    .source = "Kaiser et al. 2009, section 3.1",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
