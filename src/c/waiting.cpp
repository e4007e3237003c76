// lapwing_test and the functions that wait.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "c/group.hpp"
#include "c/status.hpp"
#include "engines/progress_thread.hpp"
#include "engines/wait_strategy.hpp"

namespace lapwing::c {
namespace {

class Waiter {
  public:
    explicit Waiter(Group& group) : group_(group) { ++group_.waiters; }
    ~Waiter() { --group_.waiters; }
    Waiter& operator=(Waiter&&) = delete;

  private:
    Group& group_;
};

// While nobody else is in the group, nothing can take away what wakes this thread up.
constexpr auto max_sleep_alone = std::chrono::milliseconds(20);

// Until something moves in one of the groups, or for a while.
void sleep(Group& group, const std::vector<std::shared_ptr<Group>>& others, WaitStrategy& strategy) {
    std::vector<int> descriptors;
    bool all_wake = group.prepare_to_sleep(descriptors);
    for (const auto& other : others) all_wake = other->prepare_to_sleep(descriptors) && all_wake;
    const bool alone = group.waiters == 1;
    if (all_wake && !descriptors.empty()) {
        strategy.sleep(alone ? max_sleep_alone : WaitStrategy::max_sleep,
                       [&](std::chrono::nanoseconds limit) { return sleep_at(descriptors, limit); });
        return;
    }
    // Who sleeps for messages through memory sees no others: after a short time it looks for them.
    std::chrono::nanoseconds longest = WaitStrategy::shortest_sleep;
    if (group.all_share_memory())
        longest = alone && others.empty() ? max_sleep_alone : WaitStrategy::max_sleep;
    strategy.sleep(longest, [&](std::chrono::nanoseconds limit) { return group.sleep(limit); });
}

lapwing_status wait(lapwing_operation** operation) {
    if (operation == nullptr) throw_invalid("operation is null");
    if (*operation == nullptr) return LAPWING_SUCCESS;
    const std::shared_ptr<Group> group = (*operation)->group;
    const Waiter waiter(*group);
    WaitStrategy strategy;
    ProgressSuspension progress(group->progress_thread());
    while (progress.suspend(), !group->move(*operation, true)) {
        // A peer may wait for an operation of another group before it comes to this one.
        const std::vector<std::shared_ptr<Group>> others = other_groups(group.get());
        for (const auto& other : others) other->try_move();
        // How many ranks share this host's processors is not known here: let them run.
        switch (
            strategy.after_poll({.oversubscribed = true, .polls_in_kernel = !group->all_share_memory()})) {
            case WaitStrategy::Step::poll:
                break;
            case WaitStrategy::Step::yield:
                std::this_thread::yield();
                break;
            case WaitStrategy::Step::sleep:
                progress.resume();
                sleep(*group, others, strategy);
                break;
        }
    }
    return group->give_back(std::exchange(*operation, nullptr));
}

lapwing_status test(lapwing_operation** operation, int* complete) {
    if (operation == nullptr || complete == nullptr) throw_invalid("operation or complete is null");
    *complete = 1;
    if (*operation == nullptr) return LAPWING_SUCCESS;
    const std::shared_ptr<Group> group = (*operation)->group;
    *complete = (*operation)->complete ? 1 : 0;
    if (*complete == 0 && group->waiters > 0) {
        // Another thread moves all there is: a caller who tests in a loop would only keep it from that.
        std::this_thread::yield();
        return LAPWING_SUCCESS;
    }
    if (!group->move(*operation, false)) {
        for (const auto& other : other_groups(group.get())) other->try_move();
        *complete = 0;
        return LAPWING_SUCCESS;
    }
    *complete = 1;
    return group->give_back(std::exchange(*operation, nullptr));
}

lapwing_status wait_all(std::size_t count, lapwing_operation** operations) {
    if (count > 0 && operations == nullptr) throw_invalid("operations is null");
    lapwing_status first = LAPWING_SUCCESS;
    std::string message;
    for (std::size_t i = 0; i < count; ++i) {
        const lapwing_status status = wait(&operations[i]);
        if (status == LAPWING_SUCCESS || first != LAPWING_SUCCESS) continue;
        first = status;
        message = lapwing_message();
    }
    return first == LAPWING_SUCCESS ? first : failed(first, message.c_str());
}

}  // namespace
}  // namespace lapwing::c

using namespace lapwing::c;

lapwing_status lapwing_test(lapwing_operation** operation, int* complete) {
    return guarded([&] { return test(operation, complete); });
}

lapwing_status lapwing_wait(lapwing_operation** operation) {
    return guarded([&] { return wait(operation); });
}

lapwing_status lapwing_wait_all(size_t count, lapwing_operation** operations) {
    return guarded([&] { return wait_all(count, operations); });
}
