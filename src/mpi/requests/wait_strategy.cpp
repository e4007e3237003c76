#include "mpi/requests/wait_strategy.hpp"

#include <mpi.h>
#include <poll.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "mpi/job/runtime.hpp"
#include "mpi/requests/request.hpp"

namespace lapwing {
namespace {

// About as long as a message and its answer take on an Ethernet.
constexpr std::uint64_t spin = 60'000;
// While the rank sleeps, nothing of the native MPI moves: so it never sleeps for long.
constexpr long shortest_slice = 50'000;
constexpr long longest_slice = 1'000'000;
constexpr std::uint64_t looks_for_spin = 2000;

bool kernel_runs(Request* const* requests, std::size_t count) {
    return std::any_of(requests, requests + count,
                       [](const Request* request) { return request->group->connections != nullptr; });
}

bool all_share_memory(Request* const* requests, std::size_t count) {
    return std::all_of(requests, requests + count,
                       [](const Request* request) { return request->group->all_intra_node; });
}

// What others wait for may be a message of the program's that only this rank's MPI can move.
void move_mpi() {
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

}  // namespace

void after_unsuccessful_test() {
    static thread_local unsigned tests = 0;
    if (++tests % 16 == 0) move_mpi();
}

// As long as this thread looks again and again, the progress thread would only be in its way.
void WaitStrategy::take_over() {
    ProgressThread* const progress_thread = runtime.network.progress_thread();
    if (progress_thread == nullptr || has_taken_over_) return;
    progress_thread->take_over();
    has_taken_over_ = true;
}

void WaitStrategy::hand_back() {
    if (has_taken_over_) runtime.network.progress_thread()->hand_back();
    has_taken_over_ = false;
}

void WaitStrategy::pause(Request* const* requests, std::size_t count) {
    ++looks_;
    take_over();
    const bool oversubscribed = runtime.locations.oversubscribed();
    if (!kernel_runs(requests, count)) {
        // At once, when those that it waits for may need this processor.
        if (runtime.threads || oversubscribed || looks_ > looks_for_spin) std::this_thread::yield();
        // Messages of the native MPI ring no bell.
        if (!all_share_memory(requests, count)) return;
        if (looks_ % 64 == 0) move_mpi();
        if (looks_ % (oversubscribed ? 8 : 64) != 0) return;
        if (runtime.threads && runtime.network.progress_thread() == nullptr) return;
        const std::uint64_t now = nanoseconds();
        if (began_ == 0) began_ = now;
        if (now - began_ > spin) sleep_at_bell(longest_slice);
        return;
    }
    if (looks_ % 4 != 0) return;
    std::this_thread::yield();
    if (looks_ % 32 == 0) move_mpi();
    const std::uint64_t now = nanoseconds();
    if (began_ == 0) began_ = now;
    if (now - began_ > spin) sleep(requests, count);
}

// Where there is no progress thread, no other thread uses the node meanwhile: see pause().
void WaitStrategy::sleep_at_bell(long longest) {
    move_mpi();
    slice_ = std::clamp(2 * slice_, shortest_slice, longest);
    if (ProgressThread* const progress_thread = runtime.network.progress_thread();
        progress_thread != nullptr) {
        hand_back();
        return progress_thread->sleep(std::chrono::nanoseconds(slice_));
    }
    if (runtime.threads) return std::this_thread::yield();
    const Entry entry;
    runtime.network.node()->sleep(std::chrono::nanoseconds(slice_));
}

void WaitStrategy::sleep(Request* const* requests, std::size_t count) {
    std::vector<pollfd> changed;
    bool all_wake = true;
    {
        const Entry entry;
        for (std::size_t i = 0; i < count; ++i) {
            if (requests[i]->state != Request::State::running) continue;
            changed.push_back({prepare_to_sleep(*requests[i]), POLLIN, 0});
            all_wake = all_wake && changed.back().fd >= 0;
        }
    }
    // What comes through shared memory rings, and wakes nobody who polls.
    if (!all_wake && runtime.network.node() != nullptr) return sleep_at_bell(shortest_slice);
    move_mpi();
    hand_back();
    slice_ = std::clamp(2 * slice_, shortest_slice, longest_slice);
    const timespec limit{0, slice_};
    // A descriptor of -1 is passed over.
    ::ppoll(changed.data(), changed.size(), &limit, nullptr);
}

}  // namespace lapwing
