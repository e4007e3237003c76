#include "mpi/requests/request_wait.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include "links/mpi/own_communicator.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing {
namespace {

// The native MPI advances once in so many unsuccessful polls: peers may wait for a message of the program
// that only this rank's MPI can advance.
constexpr unsigned tests_per_native_progress = 16;
constexpr std::uint64_t polls_per_native_progress = 64;
constexpr std::uint64_t kernel_polls_per_native_progress = 32;

// Inside Entry: another thread, or Lapwing's, may complete it at any time.
bool is_running(const Request* request) {
    return request->state == RequestState::running;
}

// A snapshot of this rank waits for the positions of the lists in flight.
void publish_positions(std::span<Request* const> requests) {
    std::vector<watch::Journal::Published> positions;
    const Entry entry;
    for (const Request* request : requests) {
        if (request->operation == nullptr) continue;
        const Plan& plan = *request->plan;
        const auto at = plan.prepared->position(request->operation);
        watch::Position position;
        position.engine = plan.engine->name();
        if (at) {
            position.task = at->task;
            position.tasks = at->tasks;
            position.awaited = at->awaited;
        }
        positions.push_back({request->recorded, std::move(position)});
    }
    watch::journal().publish(std::move(positions));
}

}  // namespace

void after_unsuccessful_test() {
    static thread_local unsigned tests = 0;
    if (++tests % tests_per_native_progress == 0) progress_mpi();
}

void record_test(std::span<Request* const> requests) {
    for (const Request* request : requests) watch::InCall::waits_for(request->recorded);
    if (watch::journal().wants_positions()) publish_positions(requests);
}

RequestWait::RequestWait() : progress_(runtime.network->progress_thread()) {}

void RequestWait::pause(std::span<Request* const> requests) {
    progress_.suspend();
    if (strategy_.polls() == 0)
        record_test(requests);
    else if (watch::journal().wants_positions())
        publish_positions(requests);
    const auto any = [requests](auto is) {
        return std::ranges::any_of(requests, [&](const Request* request) { return is(*request->group); });
    };
    const bool in_kernel =
        any([](const Communicator& group) { return group.is_open() && group.group->has_engine_network(); });
    const bool fabric = any([](const Communicator& group) { return group.group->by_fabric(); });
    // Messages of the native MPI ring no doorbell. Completions of a fabric ring only that of the progress
    // thread. Without a progress thread, one thread at a time may sleep at the doorbell.
    const bool doorbell =
        !in_kernel && !any([](const Communicator& group) { return group.group->needs_link(); });
    const bool may_sleep =
        in_kernel ||
        (doorbell && (runtime.network->progress_thread() != nullptr || (!runtime.mode.threads && !fabric)));
    const WaitStrategy::Step step =
        strategy_.after_poll({.oversubscribed = runtime.mode.threads || runtime.locations.oversubscribed(),
                              .polls_in_kernel = in_kernel || fabric,
                              .may_sleep = may_sleep});
    const std::uint64_t per_native = in_kernel ? kernel_polls_per_native_progress : polls_per_native_progress;
    if ((in_kernel || doorbell) && strategy_.polls() % per_native == 0) progress_mpi();
    switch (step) {
        case WaitStrategy::Step::poll:
            return;
        case WaitStrategy::Step::yield:
            return std::this_thread::yield();
        case WaitStrategy::Step::sleep:
            return in_kernel ? sleep_at_descriptors(requests)
                             : sleep_at_doorbell(requests, WaitStrategy::max_sleep);
    }
}

void RequestWait::sleep_at_doorbell(std::span<Request* const> requests, std::chrono::nanoseconds max) {
    progress_mpi();
    ProgressThread* const progress_thread = runtime.network->progress_thread();
    // Without a progress thread, another thread of the program may use the shared memory meanwhile.
    if (progress_thread == nullptr && runtime.mode.threads) return std::this_thread::yield();
    progress_.resume();
    strategy_.sleep(max, [&](std::chrono::nanoseconds limit) {
        if (progress_thread != nullptr)
            return progress_thread->sleep(limit) ? trace::WakeUp::progress_thread : trace::WakeUp::limit;
        const Entry entry;
        // Lapwing's thread may have met the last ring.
        if (std::ranges::none_of(requests, is_running)) return trace::WakeUp::doorbell;
        return runtime.network->node()->sleep(limit) ? trace::WakeUp::doorbell : trace::WakeUp::limit;
    });
}

void RequestWait::sleep_at_descriptors(std::span<Request* const> requests) {
    std::vector<int> descriptors;
    {
        const Entry entry;
        for (const Request* request : requests) {
            if (is_running(request))
                descriptors.push_back(request->operation == nullptr
                                          ? -1
                                          : request->plan->prepared->prepare_to_sleep(request->operation));
        }
    }
    if (descriptors.empty()) return;
    const bool all_wake = std::ranges::none_of(descriptors, [](int descriptor) { return descriptor < 0; });
    // Messages through shared memory ring the doorbell, which no descriptor signals.
    if (!all_wake && runtime.network->node() != nullptr)
        return sleep_at_doorbell(requests, WaitStrategy::shortest_sleep);
    progress_mpi();
    progress_.resume();
    // Never for long: the native MPI does not advance while the rank sleeps.
    strategy_.sleep(WaitStrategy::max_sleep,
                    [&](std::chrono::nanoseconds limit) { return sleep_at(descriptors, limit); });
}

}  // namespace lapwing
