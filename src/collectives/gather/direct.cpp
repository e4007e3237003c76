#include "collectives/gather/direct.hpp"

#include <algorithm>
#include <vector>

#include "collectives/arithmetic.hpp"
#include "collectives/blocks.hpp"
#include "task/builder.hpp"

namespace lapwing::gather {

List build_flat(const Problem& problem, int rank) {
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

List build_sequential(const Problem& problem, int rank, std::int64_t window) {
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
    const std::size_t ahead = std::min(static_cast<std::size_t>(window), senders.size());

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

double cost_of_flat(const Problem& problem, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return machine.latency + (problem.ranks - 1) * (machine.task + bytes * machine.per_byte);
}

double cost_of_sequential(const Problem& problem, std::int64_t window, const Machine& machine) {
    const double bytes = static_cast<double>(problem.bytes);
    return 2 * machine.latency + (problem.ranks - 1) * (2 * machine.latency / static_cast<double>(window) +
                                                        2 * machine.task + bytes * machine.per_byte);
}

}  // namespace lapwing::gather
