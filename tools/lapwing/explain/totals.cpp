#include "lapwing/explain/totals.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace lapwing::tool {
namespace {

struct Channel {
    std::vector<std::uint64_t> depths;  // of the messages sent so far
    std::size_t received = 0;
    bool awaited = false;
};

// Runs all lists, each as far as it goes, and counts with each message how many came before it in its chain.
std::uint64_t longest_chain(std::span<const List> lists) {
    std::vector<std::size_t> next(lists.size());
    std::vector<std::uint64_t> depth(lists.size());
    std::unordered_map<std::uint64_t, Channel> channels;
    const auto channel = [&](std::size_t from, std::size_t to) -> Channel& {
        return channels[from * lists.size() + to];
    };
    std::vector<std::size_t> ready(lists.size());
    std::iota(ready.begin(), ready.end(), std::size_t{0});
    std::uint64_t longest = 0;
    while (!ready.empty()) {
        const std::size_t rank = ready.back();
        ready.pop_back();
        for (; next[rank] < lists[rank].tasks.size(); ++next[rank]) {
            const Task& task = lists[rank].tasks[next[rank]];
            const auto peer = static_cast<std::size_t>(task.peer);
            if (sends(task.kind)) {
                Channel& to = channel(rank, peer);
                to.depths.push_back(depth[rank] + 1);
                longest = std::max(longest, depth[rank] + 1);
                if (to.awaited) ready.push_back(peer);
                to.awaited = false;
            } else if (task.kind == Kind::wait) {
                Channel& from = channel(peer, rank);
                from.awaited = from.depths.size() < from.received + task.count;
                if (from.awaited) break;
                for (std::uint64_t i = 0; i < task.count; ++i)
                    depth[rank] = std::max(depth[rank], from.depths[from.received++]);
            }
        }
    }
    return longest;
}

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
        result.steps = longest_chain(lists);
    }
    return result;
}

}  // namespace lapwing::tool
