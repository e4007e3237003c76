#include "engines/messages.hpp"

#include <cstdint>
#include <unordered_map>

#include "base/error.hpp"

namespace lapwing {
namespace {

[[noreturn]] void refuse() {
    throw Error(ErrorCode::internal, "a list waits for a receive that it has not posted");
}

}  // namespace

MessagePlan::MessagePlan(std::span<const Task> tasks) {
    // Most lists wait in the order of their receives. That is found without memory.
    std::size_t next_receive = 0;  // index in tasks
    bool in_order = true;
    for (const Task& task : tasks) {
        if (task.kind == Kind::send) ++sends_;
        if (task.kind == Kind::recv) ++receives_;
        if (task.kind != Kind::wait) continue;
        awaited_ += task.count;
        if (awaited_ > receives_) refuse();
        for (std::uint64_t i = 0; i < task.count && in_order; ++i, ++next_receive) {
            while (tasks[next_receive].kind != Kind::recv) ++next_receive;
            in_order = tasks[next_receive].peer == task.peer;
        }
    }
    if (!in_order) find_order(tasks);
}

void MessagePlan::find_order(std::span<const Task> tasks) {
    constexpr std::size_t none = SIZE_MAX;
    struct Queue {
        std::size_t first = none;  // receive that is not awaited yet
        std::size_t last = none;
    };
    std::unordered_map<int, Queue> queues;  // by peer
    std::vector<std::size_t> next;          // of each receive, the next one from the same peer
    next.reserve(receives_);
    order_.reserve(awaited_);
    for (const Task& task : tasks) {
        if (task.kind == Kind::recv) {
            Queue& queue = queues[task.peer];
            if (queue.first == none)
                queue.first = next.size();
            else
                next[queue.last] = next.size();
            queue.last = next.size();
            next.push_back(none);
        } else if (task.kind == Kind::wait) {
            std::size_t& first = queues[task.peer].first;
            for (std::uint64_t i = 0; i < task.count; ++i) {
                if (first == none) refuse();
                order_.push_back(first);
                first = next[first];
            }
        }
    }
}

}  // namespace lapwing
