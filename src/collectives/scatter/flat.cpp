// Scatter with a flat tree: the root sends every rank its block, one after the other. scatterv has no other
// algorithm: along a tree, ranks would have to know the lengths of other ranks' blocks, and only the root
// does. The mirror of the gather of Kaiser et al. 2009, "Implementation and Analysis of Nonblocking
// Collective Operations on SCI Networks", section 3.1.
#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::scatter {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    const int root = problem.root;
    if (rank != root) {
        Builder list(problem, rank, 2);
        const Span own = block_from(problem, rank, root);
        if (own.length > 0) {
            list.recv(root, own);
            list.wait(root);
        }
        return list.finish();
    }
    Builder list(problem, rank, static_cast<std::uint64_t>(problem.ranks));
    for (int turn = 1; turn < problem.ranks; ++turn) {
        const int receiver = absolute_rank(turn, root, problem.ranks);
        const Span block = block_to(problem, root, receiver);
        if (block.length > 0) list.send(receiver, block);
    }
    list.copy(block_from(problem, root, root), block_to(problem, root, root));
    return list.finish();
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return machine.latency + (problem.ranks - 1) * (machine.task + bytes * machine.per_byte);
}

}  // namespace

const Algorithm flat = {
    .summary = "the root sends to all ranks, one after the other",
    .source = "Kaiser et al. 2009, section 3.1, mirrored",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scatter
