#include "task/checker/traffic.hpp"

#include <unordered_map>

namespace lapwing::checker {

Traffic::Traffic(std::span<const List> lists) {
    std::size_t tasks = 0;
    first_task_.reserve(lists.size());
    for (const List& list : lists) {
        first_task_.push_back(tasks);
        tasks += list.tasks.size();
    }
    pair_of_.resize(tasks);
    find_pairs(lists);
    enumerate(lists);
}

// Numbers the pairs in the order of their senders; pairs without a send follow.
void Traffic::find_pairs(std::span<const List> lists) {
    std::unordered_map<std::uint64_t, PairIndex> index;  // by sender and receiver
    const auto find = [&](int sender, int receiver) {
        const auto key = static_cast<std::uint64_t>(sender) << 32 | static_cast<std::uint32_t>(receiver);
        const auto [found, added] = index.try_emplace(key, static_cast<PairIndex>(pairs_.size()));
        if (added) pairs_.push_back({sender, receiver});
        return found->second;
    };
    for (const bool sending : {true, false}) {
        for (std::size_t at = 0; at < lists.size(); ++at) {
            const int rank = static_cast<int>(at);
            PairIndex* pair_of = pair_of_.data() + first_task_[at];
            for (const Task& task : lists[at].tasks) {
                PairIndex& pair = *pair_of++;
                if (sending && sends(task.kind)) {
                    pair = find(rank, task.peer);
                    ++pairs_[pair].sends;
                } else if (!sending && (task.kind == Kind::recv || task.kind == Kind::wait)) {
                    pair = find(task.peer, rank);
                    if (task.kind == Kind::recv) ++pairs_[pair].recvs;
                }
            }
        }
    }
}

void Traffic::enumerate(std::span<const List> lists) {
    std::size_t sends_before = 0;
    std::size_t recvs_before = 0;
    std::vector<std::size_t> next_send(pairs_.size());
    std::vector<std::size_t> next_recv(pairs_.size());
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        next_send[i] = pairs_[i].first_send = sends_before;
        next_recv[i] = pairs_[i].first_recv = recvs_before;
        sends_before += pairs_[i].sends;
        recvs_before += pairs_[i].recvs;
    }
    sends_.resize(sends_before);
    recvs_.resize(recvs_before);
    std::size_t task_index = 0;
    for (const List& list : lists) {
        TaskIndex index = 0;
        for (const Task& task : list.tasks) {
            const PairIndex pair = pair_of_[task_index++];
            if (sends(task.kind)) {
                sends_[next_send[pair]++] = index;
            } else if (task.kind == Kind::recv) {
                recvs_[next_recv[pair]++] = index;
            }
            ++index;
        }
    }
}

}  // namespace lapwing::checker
