// lapwing_test and the functions that wait.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "c/group.hpp"
#include "c/groups.hpp"
#include "c/status.hpp"

namespace lapwing::c {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for a message to come back on a fast network, short against a scheduler's slice.
constexpr auto looking = std::chrono::microseconds(100);

class Waiter {
  public:
    explicit Waiter(Group& group) : group_(group) { ++group_.waiters; }
    ~Waiter() { --group_.waiters; }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

  private:
    Group& group_;
};

// Those who sleep for messages through memory see no others: after such a slice they look for them.
constexpr auto shortest_slice = std::chrono::microseconds(50);
constexpr auto longest_slice = std::chrono::milliseconds(1);
constexpr auto longest_slice_alone = std::chrono::milliseconds(20);

// Until something moves in one of the groups. `slice`: how long it has slept the last time.
void sleep(Group& group, const std::vector<std::shared_ptr<Group>>& others, std::chrono::nanoseconds& slice) {
    std::vector<int> descriptors;
    bool may_sleep = group.prepare_to_sleep(descriptors);
    for (const auto& other : others) may_sleep = other->prepare_to_sleep(descriptors) && may_sleep;
    if (!may_sleep || descriptors.empty()) {
        std::chrono::nanoseconds longest = shortest_slice;
        if (group.all_intra_node())
            longest = others.empty() && group.waiters == 1 ? longest_slice_alone : longest_slice;
        slice = std::clamp<std::chrono::nanoseconds>(2 * slice, shortest_slice, longest);
        if (!group.sleep(slice)) std::this_thread::yield();
        return;
    }
    std::vector<pollfd> changed;
    for (const int descriptor : descriptors) changed.push_back({descriptor, POLLIN, 0});
    // Another thread that is in the group may take away what would wake this one.
    ::poll(changed.data(), changed.size(), group.waiters > 1 ? 1 : 20);
}

lapwing_status wait(lapwing_operation** operation) {
    if (operation == nullptr) refuse("operation is null");
    if (*operation == nullptr) return LAPWING_SUCCESS;
    const std::shared_ptr<Group> group = (*operation)->group;
    const Waiter waiter(*group);
    const auto begin = Clock::now();
    std::chrono::nanoseconds slice{0};
    while (!group->move(*operation, true)) {
        // A peer may wait for an operation of another group before it comes to this one.
        const std::vector<std::shared_ptr<Group>> others = other_groups(group.get());
        for (const auto& other : others) other->try_move();
        if (Clock::now() - begin < looking)
            std::this_thread::yield();
        else
            sleep(*group, others, slice);
    }
    const lapwing_status status = group->give_back(*operation);
    *operation = nullptr;
    return status;
}

lapwing_status test(lapwing_operation** operation, int* complete) {
    if (operation == nullptr || complete == nullptr) refuse("operation or complete is null");
    *complete = 1;
    if (*operation == nullptr) return LAPWING_SUCCESS;
    const std::shared_ptr<Group> group = (*operation)->group;
    if (group->waiters > 0 && !(*operation)->complete) {
        // Another thread moves all there is: a caller who tests in a loop would only keep it from that.
        std::this_thread::yield();
        *complete = 0;
        return LAPWING_SUCCESS;
    }
    if (!group->move(*operation, false)) {
        for (const auto& other : other_groups(group.get())) other->try_move();
        *complete = 0;
        return LAPWING_SUCCESS;
    }
    const lapwing_status status = group->give_back(*operation);
    *operation = nullptr;
    return status;
}

lapwing_status wait_all(std::size_t count, lapwing_operation** operations) {
    if (count > 0 && operations == nullptr) refuse("operations is null");
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
    try {
        return test(operation, complete);
    } catch (...) {
        return failed_by_exception();
    }
}

lapwing_status lapwing_wait(lapwing_operation** operation) {
    try {
        return wait(operation);
    } catch (...) {
        return failed_by_exception();
    }
}

lapwing_status lapwing_wait_all(size_t count, lapwing_operation** operations) {
    try {
        return wait_all(count, operations);
    } catch (...) {
        return failed_by_exception();
    }
}
