// Operations of one group: started, moved, given back.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "c/group.hpp"
#include "c/status.hpp"

namespace lapwing::c {
namespace {

constexpr std::chrono::milliseconds reason_limit{500};

}  // namespace

void Group::check_usable() {
    if (!of_this_process())
        throw_invalid("the group belongs to the parent of this process: a child of fork has none");
    if (!broken_) return;
    const std::lock_guard lock(broken_mutex_);
    throw Error(ErrorCode::link, why_broken_);
}

Plan& Group::pin(const Problem& problem) {
    const std::lock_guard lock(mutex_);
    check_usable();
    Plan& plan = group_->planner().plan(problem);
    ++plan.in_flight;  // it is not forgotten
    ++pinned_;
    return plan;
}

void Group::unpin(Plan& plan) {
    const std::lock_guard lock(mutex_);
    --plan.in_flight;
    --pinned_;
}

lapwing_operation* Group::start(const Problem& problem, Buffers buffers, const CallersFunction& function) {
    const std::lock_guard lock(mutex_);
    check_usable();
    return begin(group_->planner().plan(problem), buffers, function);
}

lapwing_operation* Group::start(Plan& plan, Buffers buffers, const CallersFunction& function) {
    const std::lock_guard lock(mutex_);
    check_usable();
    return begin(plan, buffers, function);
}

lapwing_operation* Group::begin(Plan& plan, Buffers buffers, const CallersFunction& function) {
    if (idle_.empty()) {
        // Room for all of them, everywhere: nothing may fail once the run has started.
        operations_.push_back(std::make_unique<lapwing_operation>());
        idle_.reserve(operations_.size());
        running_.reserve(operations_.size());
        idle_.push_back(operations_.back().get());
    }
    lapwing_operation* const operation = idle_.back();
    operation->plan = &plan;
    operation->function = function;
    operation->complete = false;
    operation->status = LAPWING_SUCCESS;
    operation->message.clear();
    buffers.reducer = &operation->function;
    try {
        operation->run = plan.prepared->start(buffers, next_channel_);
    } catch (const Error& error) {
        // The other ranks have started, or will: they must not wait for this one.
        const std::string why = lost(error.what());
        throw Error(error.code(), error.code() == ErrorCode::link ? why : error.what());
    }
    ++next_channel_;
    ++plan.in_flight;
    idle_.pop_back();
    operation->group = shared_from_this();
    running_.push_back(operation);
    ++held_;
    return operation;
}

// Breaks the group up. Returns the first reason of all, not what followed from it: the reason of a peer that
// fails may arrive later than the end of its connections, or than a network's refusal to reach it.
std::string Group::lost(const std::string& why) {
    await_reason(reason_limit);
    break_up(why);
    return await_reason(reason_limit);
}

// Whether it is complete now.
bool Group::step(lapwing_operation& operation, bool waits) {
    Prepared& prepared = *operation.plan->prepared;
    try {
        if (!(waits ? prepared.progress(operation.run) : prepared.test(operation.run))) return false;
        --operation.plan->in_flight;
    } catch (const std::exception& exception) {
        // Its plan stays in flight for ever: nobody starts it again.
        operation.status = status_of(exception);
        operation.message = exception.what();
        const std::string why = lost(operation.message);
        if (operation.status == LAPWING_LINK) operation.message = why;
    }
    operation.complete = true;
    return true;
}

bool Group::move(lapwing_operation* awaited, bool waits) {
    const std::lock_guard lock(mutex_);
    if (awaited != nullptr && awaited->complete) return true;
    // All of them: a peer may wait for another one than this rank does.
    std::erase_if(running_, [&](lapwing_operation* operation) {
        return step(*operation, waits && operation == awaited);
    });
    return awaited != nullptr && awaited->complete;
}

void Group::try_move() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    std::erase_if(running_, [&](lapwing_operation* operation) { return step(*operation, false); });
}

bool Group::prepare_to_sleep(std::vector<int>& descriptors) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    for (lapwing_operation* const operation : running_) {
        const int descriptor = operation->plan->prepared->prepare_to_sleep(operation->run);
        if (descriptor < 0) return false;
        if (std::find(descriptors.begin(), descriptors.end(), descriptor) == descriptors.end())
            descriptors.push_back(descriptor);
    }
    return true;
}

trace::WakeUp Group::sleep(std::chrono::nanoseconds limit) {
    if (ProgressThread* const thread = progress_thread())
        return thread->sleep(limit) ? trace::WakeUp::progress_thread : trace::WakeUp::limit;
    std::optional<std::uint32_t> seen;
    {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock || !group_->shares_memory()) {
            std::this_thread::yield();
            return trace::WakeUp::limit;
        }
        seen = network_->node()->prepare_to_sleep();
    }
    // Without the lock: other threads may start and wait meanwhile.
    return !seen || network_->node()->sleep_on(*seen, limit) ? trace::WakeUp::doorbell : trace::WakeUp::limit;
}

lapwing_status Group::give_back(lapwing_operation* operation) {
    const std::lock_guard lock(mutex_);
    const lapwing_status status = operation->status;
    if (status != LAPWING_SUCCESS) failed(status, operation->message.c_str());
    operation->group.reset();  // the caller of this holds it, too
    idle_.push_back(operation);
    --held_;
    return status;
}

bool Group::busy() {
    const std::lock_guard lock(mutex_);
    return held_ > 0 || pinned_ > 0;
}

}  // namespace lapwing::c
