// Reduce-scatter around a ring: every rank communicates only with its two neighbours.
// Chan et al. 2007, "Collective communication: theory, practice, and experience" (the bucket algorithm).
#include "collectives/reduction/ring_pass.hpp"

namespace lapwing::reduce_scatter {
namespace {

using namespace reduction;

Verdict applies(const Problem& problem, const Parameters&) {
    const Verdict fits =
        within_scratch(VectorBlocks(problem).largest(), static_cast<std::uint64_t>(problem.ranks) + 1);
    return fits ? ring_keeps_order(problem) : fits;
}

List build(const Problem& problem, int rank, const Parameters&) {
    const VectorBlocks blocks(problem);
    RingPass ring(blocks, rank);
    const Span result = out(0, blocks.bytes(rank));
    Builder list(problem, rank, 4 * static_cast<std::uint64_t>(problem.ranks) + 2);
    ring.offer(list, problem.in_place ? Span{} : result);
    list.copy(result, ring.run(list, input(problem, rank, 0, blocks.total()), result));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_of_ring_pass(static_cast<double>(VectorBlocks(problem).largest()), problem.ranks, machine);
}

}  // namespace

const Algorithm ring = {
    .summary = "pass blocks once around the ring of ranks, of which each adds its contribution",
    .source = "Chan et al. 2007",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::numbers,
};

}  // namespace lapwing::reduce_scatter
