#include "mpi/requests/start.hpp"

#include <bit>
#include <chrono>
#include <optional>
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
    const std::uint64_t began = nanoseconds();
    WaitStrategy strategy;
    PollMeter meter;
    std::chrono::nanoseconds pause{};
    for (;;) {
        const std::uint64_t spent = processor_time();
        bool lists = false;
        {
            const Entry entry;
            // A rank that has yet to make this call may wait for a list of this rank.
            request_table.progress();
            if (!group.begun() || open_group(group)) return true;
            lists = request_book.running_lists() > 0;
        }
        if (nanoseconds() - began >= patience) return false;
        // Large messages of the program need many polls.
        if (meter.moves(processor_time() - spent, std::exchange(pause, {}))) strategy = {};
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
    }
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
    static const bool takes = [] {
        for (const char* name : {"MPI_Start", "MPI_Startall", "MPI_Wait", "MPI_Waitall", "MPI_Waitany",
                                 "MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome",
                                 "MPI_Request_get_status", "MPI_Request_free"}) {
            if (!file_before(name).empty()) return false;
        }
        return true;
    }();
    return takes;
}

// A plan for a persistent collective and the channel of all its starts. While this lives, the plan counts as
// in flight, and the channel is released unless it is taken.
class PersistentPlan {
  public:
    // Collective; waits for the other ranks if they must agree. Outside of Entry. Throws Error (unsupported).
    PersistentPlan(Communicator& group, const Problem& problem) : problem_(problem) {
        constexpr std::uint32_t max_lanes = 32;  // whose channels engines choose, see Prepared::accept()
        // So many channels every link tells apart; one that is given again may still be in use.
        constexpr std::uint32_t max_channels = 1U << 14;
        const std::uint32_t number = max_lanes + group.next_persistent_channel++;
        if (number >= max_channels)
            throw Error(ErrorCode::unsupported, "the communicator has had {} persistent collectives",
                        max_channels);
        channel_ = first_persistent_channel + number % first_persistent_channel;
        if (!choose(group, Starts::persistent)) return;
        const std::uint32_t unusable_lanes = inside_entry([&] { return plan_->prepared->offer(channel_); });
        std::uint32_t unusable_anywhere = 0;
        error_ =
            PMPI_Allreduce(&unusable_lanes, &unusable_anywhere, 1, MPI_UINT32_T, MPI_BOR, group.communicator);
        if (error_ == MPI_SUCCESS && ~unusable_anywhere != 0) {
            const Entry entry;
            channel_ = plan_->prepared->accept(channel_, std::countr_one(unusable_anywhere));
            return;
        }
        release();
        if (error_ == MPI_SUCCESS) choose(group, Starts::persistent_alone);
    }
    ~PersistentPlan() { release(); }
    PersistentPlan& operator=(PersistentPlan&&) = delete;

    int error() const { return error_; }  // the MPI's
    std::uint32_t channel() const { return channel_; }
    // The plan stays in flight and keeps the channel.
    Plan* take() { return std::exchange(plan_, nullptr); }

  private:
    // Whether the ranks must agree.
    bool choose(Communicator& group, Starts starts) {
        const Entry entry;
        plan_ = &group.planner().plan(problem_, starts);
        ++plan_->in_flight;
        return group.planner().needs_agreement(*plan_);
    }
    void release() {
        if (plan_ == nullptr) return;
        const Entry entry;
        plan_->prepared->release_channel(channel_);
        --plan_->in_flight;
        plan_ = nullptr;
    }

    const Problem& problem_;
    std::uint32_t channel_ = 0;
    Plan* plan_ = nullptr;
    int error_ = MPI_SUCCESS;
};

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
    std::optional<PersistentPlan> plan;
    try {
        plan.emplace(group, problem);
    } catch (const Error& declined) {
        return left_without_plan(problem, declined);
    }
    if (plan->error() != MPI_SUCCESS) return {nullptr, plan->error()};
    const Entry entry;
    auto persistent = std::make_unique<Persistent>(buffers);
    error = persistent->handle.make();
    if (error != MPI_SUCCESS) return {nullptr, error};
    Request& request = request_table.lend(group, std::move(persistent));
    request.channel = plan->channel();
    request.plan = plan->take();  // in flight as long as the program may start it
    request.collective = problem.collective;
    request.recorded = call.id();
    request.starts = call.record_starts(true);
    return {&request};
}

}  // namespace lapwing
