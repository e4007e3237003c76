#include "task/checker/chain_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "task/checker.hpp"

namespace lapwing::checker {

ListFacts::ListFacts(std::span<const List> lists, const Traffic& traffic, std::span<const int> hosts)
    : hosts_(hosts), waits_(lists.size()), locals_(lists.size()), bytes_(traffic.size(), 0) {
    if (!hosts.empty() && hosts.size() != lists.size()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} lists, and the hosts of {} ranks", lists.size(), hosts.size()));
    }
    for (PairIndex i = 0; i < traffic.size(); ++i) {
        if (traffic[i].sends != traffic[i].recvs) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("rank {} does not receive what rank {} sends: prove lists before their "
                                    "chain forms",
                                    traffic[i].receiver, traffic[i].sender));
        }
    }
    std::uint64_t left = max_bytes_of_chains;
    for (const List& list : lists) {
        for (const Task& task : list.tasks) {
            if (!sends(task.kind)) continue;
            if (task.source.length > left) {
                throw Error(
                    ErrorCode::invalid_argument,
                    fmt::format("the chain forms of lists that send more than {} bytes in all are not "
                                "proven: take smaller blocks",
                                max_bytes_of_chains));
            }
            left -= task.source.length;
        }
    }
    std::vector<std::uint64_t> arriving(traffic.size(), 0);
    std::vector<std::uint64_t> ends(traffic.messages());
    std::vector<std::uint32_t> received(traffic.size(), 0);
    std::vector<std::uint32_t> waited(traffic.size(), 0);
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
        first_task_.push_back(tasks_.size());
        for (TaskIndex i = 0; i < lists[rank].tasks.size(); ++i) {
            const Task& task = lists[rank].tasks[i];
            TaskFacts facts;
            facts.waits = static_cast<std::uint32_t>(waits_[rank].size());
            facts.locals = static_cast<std::uint32_t>(locals_[rank].size());
            if (task.kind == Kind::copy || task.kind == Kind::reduce) {
                locals_[rank].push_back(i);
            } else {
                facts.pair = traffic.pair_of(static_cast<int>(rank), i);
            }
            if (sends(task.kind)) {
                facts.bytes = std::max<std::uint64_t>(task.source.length, 1);
                facts.position = bytes_[facts.pair];
                bytes_[facts.pair] += facts.bytes;
            } else if (task.kind == Kind::recv) {
                facts.bytes = std::max<std::uint64_t>(task.target.length, 1);
                facts.position = arriving[facts.pair];
                arriving[facts.pair] += facts.bytes;
                ends[traffic[facts.pair].first_recv + received[facts.pair]++] = arriving[facts.pair];
            } else if (task.kind == Kind::wait) {
                waited[facts.pair] += static_cast<std::uint32_t>(task.count);
                const std::uint32_t count = waited[facts.pair];
                if (count > received[facts.pair]) {
                    throw Error(ErrorCode::invalid_argument,
                                "a list waits for a receive that it has not posted: prove lists before their "
                                "chain forms");
                }
                const std::uint64_t end = count == 0 ? 0 : ends[traffic[facts.pair].first_recv + count - 1];
                waits_[rank].push_back({i, facts.pair, end});
            }
            tasks_.push_back(facts);
        }
    }
}

std::uint64_t ListFacts::total_bytes() const {
    return std::accumulate(bytes_.begin(), bytes_.end(), std::uint64_t{0});
}

}  // namespace lapwing::checker
