// Gather by sequential transmission: as flat, but the root signals each rank when it may send. A rank without
// bytes gets no signal.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
#include <algorithm>
#include <vector>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "collectives/rows.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {
namespace {

constexpr Parameter parameters[] = {{"window", "ranks that may send at the same time", 1, 1, 1 << 20}};

List build(const Problem& problem, int rank, const Parameters& values) {
    const int root = problem.root;
    if (rank != root) {
        Builder list(problem, rank, 3);
        const Span own = block_to(problem, rank, root);
        if (own.length > 0) {
            list.recv(root);
            list.wait(root);
            list.send(root, own);
        }
        return list.finish();
    }
    std::vector<int> senders;  // in the order of their turns
    for (int turn = 1; turn < problem.ranks; ++turn) {
        const int sender = absolute_rank(turn, root, problem.ranks);
        if (block_from(problem, root, sender).length > 0) senders.push_back(sender);
    }
    const std::size_t ahead = std::min(static_cast<std::size_t>(values[0]), senders.size());

    Builder list(problem, rank, 3 * senders.size() + 1);
    for (const int sender : senders) list.recv(sender, block_from(problem, root, sender));
    for (std::size_t turn = 0; turn < ahead; ++turn) list.send(senders[turn]);
    list.copy(block_from(problem, root, root), block_to(problem, root, root));
    for (std::size_t turn = 0; turn < senders.size(); ++turn) {
        list.wait(senders[turn]);
        if (turn + ahead < senders.size()) list.send(senders[turn + ahead]);
    }
    return list.finish();
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return 2 * machine.latency + (problem.ranks - 1) * (2 * machine.latency / static_cast<double>(values[0]) +
                                                        2 * machine.task + bytes * machine.per_byte);
}

}  // namespace

const Algorithm sequential = {
    .summary = "the root signals one rank after the other to send",
    .source = "Kaiser et al. 2009, section 3.1",
    .parameters = parameters,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
