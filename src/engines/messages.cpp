#include "engines/messages.hpp"

#include <cstdint>
#include <unordered_map>

#include "base/error.hpp"

namespace lapwing {

MessagePlan::MessagePlan(std::span<const Task> tasks) {
    // Most lists wait in the order of their receives. That is found without memory.
    std::size_t next_receive = 0;  // index in tasks
    bool in_order = true;
    for (const Task& task : tasks) {
        if (task.kind == Kind::send) ++sends_;
        if (task.kind == Kind::recv) ++receives_;
        if (task.kind != Kind::wait) continue;
        awaited_ += task.count;
        in_order = in_order && awaited_ <= receives_;
        for (std::uint64_t i = 0; i < task.count && in_order; ++i, ++next_receive) {
            while (tasks[next_receive].kind != Kind::recv) ++next_receive;
            in_order = tasks[next_receive].peer == task.peer;
        }
    }
    if (!in_order) find_order(tasks);
}

void MessagePlan::find_order(std::span<const Task> tasks) {
    std::unordered_map<int, std::vector<std::size_t>> receives;  // by peer, in the list's order
    std::unordered_map<int, std::size_t> awaited;                // by peer
    std::size_t posted = 0;
    order_.reserve(awaited_);
    for (const Task& task : tasks) {
        if (task.kind == Kind::recv) receives[task.peer].push_back(posted++);
        if (task.kind != Kind::wait) continue;
        const std::vector<std::size_t>& from = receives[task.peer];
        std::size_t& next = awaited[task.peer];
        for (std::uint64_t i = 0; i < task.count; ++i) {
            if (next == from.size())
                throw Error(ErrorCode::internal, "a list waits for a receive that it has not posted");
            order_.push_back(from[next++]);
        }
    }
}

}  // namespace lapwing
