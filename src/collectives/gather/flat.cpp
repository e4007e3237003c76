// Gather with a flat tree: all ranks send to the root at the same time, without any coordination.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    if (rank != problem.root) {
        Builder list(problem, rank, 1);
        const Span own = block_to(problem, rank, problem.root);
        if (own.length > 0) list.send(problem.root, own);
        return list.finish();
    }
    Builder list(problem, rank, 2 * static_cast<std::uint64_t>(problem.ranks));
    const auto sends = [&](int r) { return r != rank && block_from(problem, rank, r).length > 0; };
    for (int r = 0; r < problem.ranks; ++r) {
        if (sends(r)) list.recv(r, block_from(problem, rank, r));
    }
    list.copy(block_from(problem, rank, rank), block_to(problem, rank, rank));
    for (int r = 0; r < problem.ranks; ++r) {
        if (sends(r)) list.wait(r);
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return machine.latency + (problem.ranks - 1) * (machine.task + bytes * machine.per_byte);
}

}  // namespace

const Algorithm flat = {
    .summary = "all ranks send to the root at the same time",
    .source = "Kaiser et al. 2009, section 3.1",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
