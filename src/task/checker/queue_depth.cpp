// Rule queue_depth: every queue of the lowered list fits the engine's.
#include <fmt/format.h>

#include "task/checker/rules.hpp"
#include "task/lowering.hpp"

namespace lapwing::checker {

void check_queue_depth(std::span<const List> lists, std::uint64_t limit, Findings& findings) {
    for (std::size_t index = 0; index < lists.size() && !findings.full(); ++index) {
        // No queue gets more than one entry from a task.
        if (lists[index].tasks.size() <= limit) continue;
        const Queues queues = lower(lists[index]);
        const int rank = static_cast<int>(index);
        const auto check = [&](std::uint64_t depth, const std::string& which) {
            if (depth <= limit) return;
            findings.add(Rule::queue_depth, rank, std::nullopt,
                         fmt::format("its {} has {} tasks, the engine's holds {}", which, depth, limit));
        };
        check(queues.management.size(), "management queue");
        for (const PeerQueues& peer : queues.peers) {
            check(peer.send.size(), fmt::format("send queue to rank {}", peer.peer));
            check(peer.receive.size(), fmt::format("receive queue from rank {}", peer.peer));
        }
    }
}

}  // namespace lapwing::checker
