#include "mpi/requests/request_wait.hpp"

#include <mpi.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/requests/in_flight.hpp"

namespace lapwing {
namespace {

// Polls without success after which the native MPI progresses.
constexpr unsigned tests_per_native_progress = 16;
constexpr std::uint64_t polls_per_native_progress = 64;
constexpr std::uint64_t polls_in_kernel_per_native_progress = 32;

bool connected(Request* const* requests, std::size_t count) {
    return std::any_of(requests, requests + count,
                       [](const Request* request) { return request->group->engines.connected(); });
}

bool by_fabric(Request* const* requests, std::size_t count) {
    return std::any_of(requests, requests + count,
                       [](const Request* request) { return request->group->wants_fabric; });
}

bool none_by_native_link(Request* const* requests, std::size_t count) {
    return std::none_of(requests, requests + count,
                        [](const Request* request) { return request->group->needs_native_link(); });
}

// What others wait for may be a message of the program's that only this rank's MPI can move. It does when it
// has not found what it looks for; but since MPICH 4.0 not in communicators of one rank.
void move_native() {
    constexpr int most_likely_unused_tag = 32767;  // the largest that every MPI has
    static const int self = [] {
        int rank = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
    }();
    int found = 0;
    PMPI_Iprobe(self, most_likely_unused_tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

}  // namespace

void after_unsuccessful_test() {
    static thread_local unsigned tests = 0;
    if (++tests % tests_per_native_progress == 0) move_native();
}

// While this thread polls, the progress thread would only compete with it.
void RequestWait::suspend_progress_thread() {
    ProgressThread* const progress_thread = runtime.network.progress_thread();
    if (progress_thread == nullptr || suspends_) return;
    progress_thread->suspend();
    suspends_ = true;
}

void RequestWait::resume_progress_thread() {
    if (suspends_) runtime.network.progress_thread()->resume();
    suspends_ = false;
}

void RequestWait::pause(Request* const* requests, std::size_t count) {
    suspend_progress_thread();
    const bool in_kernel = connected(requests, count);
    const bool fabric = by_fabric(requests, count);
    // Messages of the native MPI ring no doorbell, and those of a fabric only that of the progress thread.
    // And without a progress thread only one thread at a time may sleep at it.
    const bool doorbell = !in_kernel && none_by_native_link(requests, count);
    const bool may_sleep =
        in_kernel ||
        (doorbell && (runtime.network.progress_thread() != nullptr || (!runtime.threads && !fabric)));
    const WaitStrategy::Step step =
        strategy_.after_poll({.oversubscribed = runtime.threads || runtime.locations.oversubscribed(),
                              .polls_in_kernel = in_kernel || fabric,
                              .may_sleep = may_sleep});
    const std::uint64_t per_native =
        in_kernel ? polls_in_kernel_per_native_progress : polls_per_native_progress;
    if ((in_kernel || doorbell) && strategy_.polls() % per_native == 0) move_native();
    switch (step) {
        case WaitStrategy::Step::poll:
            return;
        case WaitStrategy::Step::yield:
            return std::this_thread::yield();
        case WaitStrategy::Step::sleep:
            break;
    }
    if (in_kernel)
        sleep_at_descriptors(requests, count);
    else
        sleep_at_doorbell(WaitStrategy::longest_sleep);
}

// Where there is no progress thread, no other thread uses the node meanwhile.
void RequestWait::sleep_at_doorbell(std::chrono::nanoseconds longest) {
    move_native();
    ProgressThread* const progress_thread = runtime.network.progress_thread();
    if (progress_thread == nullptr && runtime.threads) return std::this_thread::yield();
    resume_progress_thread();
    strategy_.sleep(longest, [&](std::chrono::nanoseconds limit) {
        if (progress_thread != nullptr) {
            return progress_thread->sleep(limit) ? trace::WakeUp::progress_thread : trace::WakeUp::limit;
        }
        const Entry entry;
        return runtime.network.node()->sleep(limit) ? trace::WakeUp::doorbell : trace::WakeUp::limit;
    });
}

void RequestWait::sleep_at_descriptors(Request* const* requests, std::size_t count) {
    std::vector<int> descriptors;
    {
        const Entry entry;
        for (std::size_t i = 0; i < count; ++i) {
            if (requests[i]->state == Request::State::running)
                descriptors.push_back(prepare_to_sleep(*requests[i]));
        }
    }
    const bool all_wake =
        std::none_of(descriptors.begin(), descriptors.end(), [](int descriptor) { return descriptor < 0; });
    // What comes through shared memory rings the doorbell, and wakes nobody who polls.
    if (!all_wake && runtime.network.node() != nullptr)
        return sleep_at_doorbell(WaitStrategy::shortest_sleep);
    move_native();
    resume_progress_thread();
    // While the rank sleeps, nothing of the native MPI moves: so it never sleeps for long.
    strategy_.sleep(WaitStrategy::longest_sleep,
                    [&](std::chrono::nanoseconds limit) { return sleep_at(descriptors, limit); });
}

}  // namespace lapwing
