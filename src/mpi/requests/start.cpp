#include "mpi/requests/start.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/floating_point.hpp"
#include "engines/wait_strategy.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/native.hpp"
#include "mpi/native/poll_pace.hpp"
#include "mpi/requests/request_table.hpp"

namespace lapwing {
namespace {

// In a catch clause.
Started left_without_plan(const Problem& problem, const Error& declined) {
    if (declined.code() != ErrorCode::unsupported) throw;
    runtime.report.count_fallback(problem.collective, Fallback::no_plan);
    return {};
}

}  // namespace

Started start(Communicator& group, Problem& problem, const UserBuffers& buffers, const RecordedCall& call) {
    const std::uint64_t began = runtime.measures ? nanoseconds() : 0;
    int error = begin_group(group);
    if (error != MPI_SUCCESS) return {nullptr, error};
    problem.placement = group.group->placement();
    const Entry entry;
    Plan* plan = nullptr;
    try {
        if (group.waiting.empty() && open_group(group)) {
            plan = &group.planner().plan(problem);
        } else {  // throws if the problem will have no plan
            const DefaultFloatingPoint default_floating_point;
            select(problem, group.options.requested);
        }
    } catch (const Error& declined) {
        return left_without_plan(problem, declined);
    }
    Request* const request = request_table.take(group, &error);
    if (request == nullptr) return {nullptr, error};
    request->plan = plan;
    request->collective = problem.collective;
    if (plan == nullptr) request->problem = problem;
    if (!call.is_blocking()) request->buffers.call_site = call.site();
    error = request_table.launch(*request, buffers, began, call.is_blocking());
    if (error != MPI_SUCCESS) return {nullptr, error};
    request->recorded = call.record(watch::CallRecord::by_lapwing);
    return {request};
}

int start_again(Request& request) {
    if (request.state != RequestState::inactive) return MPI_ERR_REQUEST;
    const std::uint64_t began = runtime.measures ? nanoseconds() : 0;
    request.reset();
    Persistent& persistent = *request.persistent;
    if (request.starts != nullptr) request.starts->start();
    const int error = request_table.launch(request, persistent.buffers, began, false);
    if (error != MPI_SUCCESS && request.starts != nullptr) request.starts->stop();
    return error;
}

bool finish_group(Communicator& group, std::uint64_t patience) {
    if (group.left_to_mpi == Fallback::revoked) return true;  // the ranks will not agree
    bool lists = false;
    const auto is_finished = [&] {
        const Entry entry;
        // A rank that has yet to make this call may wait for a list of this rank.
        request_table.progress();
        if (!group.begun() || open_group(group)) return true;
        lists = request_book.running_lists() > 0;
        return false;
    };
    if (is_finished()) return true;
    const std::uint64_t began = nanoseconds();
    WaitStrategy strategy;
    PollMeter meter;
    std::chrono::nanoseconds pause{};
    while (nanoseconds() - began < patience) {
        switch (strategy.after_poll({.polls_in_kernel = true})) {
            case WaitStrategy::Step::poll:
                break;
            case WaitStrategy::Step::yield:
                std::this_thread::yield();
                break;
            case WaitStrategy::Step::sleep:  // the MPI wakes nobody
                pause = lists ? WaitStrategy::shortest_sleep : WaitStrategy::max_sleep;
                strategy.sleep(pause, [](std::chrono::nanoseconds limit) { return sleep_at({}, limit); });
        }
        const std::uint64_t spent = processor_time();
        if (is_finished()) return true;
        // Large messages of the program need many polls.
        if (meter.moves(processor_time() - spent, std::exchange(pause, {}))) strategy = {};
    }
    return false;
}

int agree_early(MPI_Comm communicator) {
    if (runtime.mode.lists_call_mpi || !runtime.takes_calls || communicator == MPI_COMM_NULL)
        return MPI_SUCCESS;
    return guarded([communicator] {
        int error = MPI_SUCCESS;
        Communicator* const group = find_communicator(communicator, &error);
        if (group == nullptr || !group->in_world) return error;
        error = begin_group(*group);
        if (error == MPI_SUCCESS) finish_group(*group);
        return error;
    });
}

namespace {

// Whether the program calls Lapwing's version of each function that takes a persistent request. A tool that
// is loaded before Lapwing and calls the MPI's versions would find the request inactive.
bool takes_persistent_requests() {
    static const bool takes = std::ranges::all_of(
        std::initializer_list<const char*>{
            "MPI_Start", "MPI_Startall", "MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Test",
            "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_get_status", "MPI_Request_free"},
        [](const char* name) { return file_before(name).empty(); });
    return takes;
}

struct ReleasePlan {
    std::uint32_t channel = 0;
    void operator()(Plan* plan) const {
        const Entry entry;
        plan->prepared->release_channel(channel);
        --plan->in_flight;
    }
};
// A plan for a persistent collective, with the channel of all its starts. Counts as in flight meanwhile.
using PersistentPlan = std::unique_ptr<Plan, ReleasePlan>;

// Inside Entry.
PersistentPlan plan_starts(Communicator& group, const Problem& problem, Starts starts,
                           std::uint32_t channel) {
    Plan& plan = group.planner().plan(problem, starts);
    ++plan.in_flight;
    return PersistentPlan(&plan, ReleasePlan{channel});
}

// Collective; waits for the other ranks if they must agree. Null with the MPI's error. Outside of Entry.
// Throws Error (unsupported).
PersistentPlan plan_persistent(Communicator& group, const Problem& problem, int* error) {
    constexpr std::uint32_t max_lanes = 32;  // whose channels engines choose, see Prepared::accept()
    // So many channels every link tells apart; one that is given again may still be in use.
    constexpr std::uint32_t max_channels = 1U << 14;
    const std::uint32_t number = max_lanes + group.next_persistent_channel++;
    if (number >= max_channels)
        throw Error(ErrorCode::unsupported, "the communicator has had {} persistent collectives",
                    max_channels);
    const std::uint32_t channel = first_persistent_channel + number % first_persistent_channel;
    PersistentPlan plan;
    std::uint32_t unusable_lanes = 0;
    {
        const Entry entry;
        plan = plan_starts(group, problem, Starts::persistent, channel);
        if (!group.planner().needs_agreement(*plan)) return plan;
        unusable_lanes = plan->prepared->offer(channel);
    }
    std::uint32_t unusable_anywhere = 0;
    *error =
        PMPI_Allreduce(&unusable_lanes, &unusable_anywhere, 1, MPI_UINT32_T, MPI_BOR, group.communicator);
    if (*error != MPI_SUCCESS) return nullptr;
    const Entry entry;
    if (~unusable_anywhere == 0) {
        plan.reset();
        return plan_starts(group, problem, Starts::persistent_alone, channel);
    }
    plan.get_deleter().channel = plan->prepared->accept(channel, std::countr_one(unusable_anywhere));
    return plan;
}

}  // namespace

Started make_persistent(Communicator& group, Problem& problem, const UserBuffers& buffers,
                        const RecordedCall& call) {
    if (!takes_persistent_requests()) {
        runtime.report.count_fallback(problem.collective, Fallback::tool);
        return {};
    }
    int error = begin_group(group);
    if (error != MPI_SUCCESS) return {nullptr, error};
    finish_group(group);
    problem.placement = group.group->placement();
    PersistentPlan plan;
    try {
        plan = plan_persistent(group, problem, &error);
    } catch (const Error& declined) {
        return left_without_plan(problem, declined);
    }
    if (error != MPI_SUCCESS) return {nullptr, error};
    const Entry entry;
    auto persistent = std::make_unique<Persistent>(buffers);
    error = persistent->handle.make();
    if (error != MPI_SUCCESS) return {nullptr, error};
    Request& request = request_table.lend(group, std::move(persistent));
    request.channel = plan.get_deleter().channel;
    request.plan = plan.release();  // in flight as long as the program may start it
    request.collective = problem.collective;
    request.recorded = call.id();
    request.starts = call.record_starts(true);
    return {&request};
}

}  // namespace lapwing
