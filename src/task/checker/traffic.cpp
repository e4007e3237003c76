#include "task/checker/traffic.hpp"

#include <limits>

namespace lapwing::checker {
namespace {

constexpr PairIndex none = std::numeric_limits<PairIndex>::max();

}  // namespace

Traffic::Traffic(std::span<const List> lists) {
    std::size_t tasks = 0;
    first_task_.reserve(lists.size());
    for (const List& list : lists) {
        first_task_.push_back(tasks);
        tasks += list.tasks.size();
    }
    pair_of_.assign(tasks, none);
    find_senders(lists);
    find_receivers(lists);
    enumerate(lists);
}

void Traffic::find_senders(std::span<const List> lists) {
    // By peer; an entry below the first pair of the current rank is from an earlier rank.
    std::vector<PairIndex> known(lists.size(), none);
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
        const auto first = static_cast<PairIndex>(pairs_.size());
        PairIndex* pair_of = pair_of_.data() + first_task_[rank];
        for (const Task& task : lists[rank].tasks) {
            PairIndex* slot = pair_of++;
            if (!sends(task.kind)) continue;
            PairIndex& pair = known[task.peer];
            if (pair == none || pair < first) {
                pair = static_cast<PairIndex>(pairs_.size());
                pairs_.push_back({static_cast<int>(rank), task.peer});
            }
            ++pairs_[pair].sends;
            *slot = pair;
        }
    }
}

void Traffic::find_receivers(std::span<const List> lists) {
    // The pairs sorted by receiver, so that each receiver can load its own.
    std::vector<std::size_t> begin(lists.size() + 1, 0);
    for (const Pair& pair : pairs_) ++begin[pair.receiver + 1];
    for (std::size_t rank = 0; rank < lists.size(); ++rank) begin[rank + 1] += begin[rank];
    std::vector<PairIndex> sorted(pairs_.size());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        sorted[next[pairs_[i].receiver]++] = static_cast<PairIndex>(i);
    }

    std::vector<PairIndex> known(lists.size(), none);  // by peer; valid when the pair's receiver is this rank
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
        const int receiver = static_cast<int>(rank);
        for (std::size_t i = begin[rank]; i < begin[rank + 1]; ++i)
            known[pairs_[sorted[i]].sender] = sorted[i];
        PairIndex* pair_of = pair_of_.data() + first_task_[rank];
        for (const Task& task : lists[rank].tasks) {
            PairIndex* slot = pair_of++;
            if (task.kind != Kind::recv && task.kind != Kind::wait) continue;
            PairIndex& pair = known[task.peer];
            if (pair == none || pairs_[pair].receiver != receiver) {
                pair = static_cast<PairIndex>(pairs_.size());
                pairs_.push_back({task.peer, receiver});
            }
            if (task.kind == Kind::recv) ++pairs_[pair].recvs;
            *slot = pair;
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
