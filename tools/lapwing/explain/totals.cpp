#include "lapwing/explain/totals.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace lapwing::tool {
namespace {

// Runs all lists, each as far as it goes, and counts with each message how many came before it in its chain.
class Run {
  public:
    explicit Run(std::span<const List> lists) : lists_(lists), next_(lists.size()), depth_(lists.size()) {}

    std::uint64_t steps() {
        std::vector<std::size_t> ready(lists_.size());
        for (std::size_t rank = 0; rank < ready.size(); ++rank) ready[rank] = rank;
        while (!ready.empty()) {
            const std::size_t rank = ready.back();
            ready.pop_back();
            advance(rank, ready);
        }
        return steps_;
    }

  private:
    struct Channel {
        std::vector<std::uint64_t> depths;  // of the messages sent so far
        std::size_t received = 0;
        bool awaited = false;
    };

    Channel& channel(std::size_t from, std::size_t to) { return channels_[from * lists_.size() + to]; }

    void advance(std::size_t rank, std::vector<std::size_t>& ready) {
        const std::vector<Task>& tasks = lists_[rank].tasks;
        for (; next_[rank] < tasks.size(); ++next_[rank]) {
            const Task& task = tasks[next_[rank]];
            const std::size_t peer = static_cast<std::size_t>(task.peer);
            if (sends(task.kind)) {
                Channel& to = channel(rank, peer);
                to.depths.push_back(depth_[rank] + 1);
                steps_ = std::max(steps_, depth_[rank] + 1);
                if (to.awaited) ready.push_back(peer);
                to.awaited = false;
            } else if (task.kind == Kind::wait) {
                Channel& from = channel(peer, rank);
                if (from.depths.size() < from.received + task.count) {
                    from.awaited = true;
                    return;
                }
                for (std::uint64_t i = 0; i < task.count; ++i) {
                    depth_[rank] = std::max(depth_[rank], from.depths[from.received++]);
                }
            }
        }
    }

    std::span<const List> lists_;
    std::vector<std::size_t> next_;
    std::vector<std::uint64_t> depth_;
    std::unordered_map<std::uint64_t, Channel> channels_;
    std::uint64_t steps_ = 0;
};

}  // namespace

Totals totals(std::span<const List> lists) {
    Totals result;
    for (const List& list : lists) {
        for (const Task& task : list.tasks) {
            if (!sends(task.kind)) continue;
            ++result.sends;
            result.bytes += task.source.length;
        }
    }
    if (!lists.empty() && lists.size() == static_cast<std::size_t>(lists.front().ranks)) {
        result.steps = Run(lists).steps();
    }
    return result;
}

}  // namespace lapwing::tool
