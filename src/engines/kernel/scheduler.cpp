#include "engines/kernel/scheduler.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "engines/kernel/inline_steps.hpp"

namespace lapwing::kernel {
Scheduler::Scheduler(const EngineContext& context, std::function<void()> request_event_thread)
    : connections_(*context.connections),
      event_thread_submits_(context.options.event_thread_submits),
      request_event_thread_(std::move(request_event_thread)),
      lanes_(
          static_cast<std::size_t>(std::max(1, context.connections->lanes() - context.options.kept_lanes))),
      submission_(ring_),
      completions_(ring_, runs_, changed_),
      host_steps_(context.intra_node, context.options.event_thread_work) {}

void Scheduler::want(const ChainPlan& plan) {
    for (std::size_t lane = 0; lane < lanes_.shared(); ++lane) {
        for (const int peer : plan.peers) connections_.want(peer, static_cast<int>(lane));
    }
}

void Scheduler::start(Run& run, std::uint32_t channel) {
    run.restart();
    run.channel = channel;
    run.lane = lanes_.lane_of(channel);
    // Kept lanes are made when they are first used.
    if (run.lane >= lanes_.shared()) {
        for (const int peer : run.plan->peers) connections_.want(peer, static_cast<int>(run.lane));
    }
    runs_.add(run);
    lanes_.add(run);
    // The one before it may stay in the sockets no longer.
    if (!lanes_.has_lane(run)) changed_.push_back(&lanes_.holder(run));
    // What the first sends must wait for is done before; the rest while they are on their way.
    if (run.plan->stages.front().host_steps > 0) advance(run, Caller::program);
    launch(run);
    advance(run, Caller::program);
    resume_awaiting_program();
    settle(Caller::program);
}

void Scheduler::look(Run& run) {
    run.moved_inline = false;
    completions_.take_in();
    if (may_stay_in_sockets(run)) move_inline_or_fail(run);
    changed_.push_back(&run);
    resume_awaiting_program();
    settle(Caller::program);
}

void Scheduler::progress(Run& run) {
    completions_.take_in();
    resume_awaiting_program();
    settle(Caller::program);
    if (run.state == Run::State::queued) launch(run);
    // A caller who waits for a short list, or for what has stayed in the sockets, does the steps itself:
    // nothing is lost by that, and an interrupt for each message is saved.
    if (run.state == Run::State::running && (run.plan->is_short() || may_stay_in_sockets(run))) {
        run.moved_inline = true;
        take_back(run);
        if (run.state == Run::State::running) move_inline_or_fail(run);
    } else {
        hand_over(run);
    }
    advance(run, Caller::program);
    settle(Caller::program);
}

void Scheduler::prepare_to_sleep(Run& run) {
    run.moved_inline = false;
    run.has_sleeper = true;
    changed_.push_back(&run);
    resume_awaiting_program();
    settle(Caller::program);
}

bool Scheduler::awaits_intra_node() const {
    return std::any_of(awaiting_program_.begin(), awaiting_program_.end(),
                       [](const Run* run) { return run->host.intra_node.open; });
}

bool Scheduler::run_on_event_thread() {
    const std::uint64_t taken = completions_.taken();
    completions_.take_in();
    const std::size_t in_flight = runs_.size();
    lanes_.for_each_holder([this](Run& run) {
        if (!run.moved_inline) changed_.push_back(&run);
    });
    if (event_thread_submits_) {
        for (Run* run : runs_.by_id()) {
            if (run != nullptr && awaits_submission(*run)) submit(*run);
        }
    }
    const std::size_t awaiting = awaiting_program_.size();
    settle(Caller::event_thread);
    return runs_.size() != in_flight || awaiting_program_.size() != awaiting ||
           (completions_.taken() != taken && !awaiting_program_.empty());
}

bool Scheduler::needs_event_thread() const {
    if (lanes_.any_run_waits()) return true;
    const std::vector<Run*>& runs = runs_.by_id();
    return host_steps_.event_thread_works() && std::any_of(runs.begin(), runs.end(), [this](const Run* run) {
               return run != nullptr && run->state == Run::State::running &&
                      host_steps_.event_thread_may_help(*run);
           });
}

void Scheduler::resume_awaiting_program() {
    for (Run* run : awaiting_program_) {
        run->awaits_program = false;
        changed_.push_back(run);
    }
    awaiting_program_.clear();
}

// Looks at the runs that have changed, and at those that thereby get a lane.
void Scheduler::settle(Caller caller) {
    while (!changed_.empty()) {
        Run& run = *changed_.back();
        changed_.pop_back();
        if (run.state == Run::State::queued) launch(run);
        if (run.state == Run::State::running && run.broken_step != nullptr) fail_broken(run);
        hand_over(run);
        advance(run, caller);
    }
}

// When it has its lane and all its connections are made.
void Scheduler::launch(Run& run) {
    if (run.state != Run::State::queued || !lanes_.has_lane(run)) return;
    StepOperands& operands = run.operands;
    try {
        operands.sockets.clear();
        bool all = true;
        for (const int peer : run.plan->peers) {
            operands.sockets.push_back(connections_.descriptor(peer, static_cast<int>(run.lane)));
            all = all && operands.sockets.back() >= 0;
        }
        if (!all) return;
        while (operands.gates.size() < static_cast<std::size_t>(run.plan->gates))
            operands.gates.push_back(gates_.take());
    } catch (const Error& error) {
        operands.sockets.clear();
        fail(run, error.what());
        return;
    }
    run.state = Run::State::running;
    run.chains.begin_receives(*run.plan);
    // Before the local work, where that may follow.
    if (run.may_begin_stage()) {
        begin_stage(run);
    } else {
        hand_over(run);
    }
}

void Scheduler::begin_stage(Run& run) {
    run.chains.begin_stage(*run.plan);
    if (run.plan->may_wait_in_sockets()) move_inline_or_fail(run);
    hand_over(run);
}

// A list that only receives now: its messages wait in the sockets as well as in the program's memory, and no
// other rank waits for what this one does with them. To hand it to the kernel, and an interrupt for each
// message, would cost more than the copy that they hide.
bool Scheduler::may_stay_in_sockets(const Run& run) const {
    return run.plan->may_wait_in_sockets() && !run.has_sleeper && run.state == Run::State::running &&
           !lanes_.another_waits_for(run) && !host_steps_.event_thread_may_help(run) &&
           !run.chains.any_in_kernel() && run.chains.only_receives_left(*run.plan) &&
           run.plan->host.intra_node().empty();
}

// Chains that are not in the kernel go there, unless a caller is about to do their steps inline.
bool Scheduler::awaits_submission(const Run& run) const {
    return !run.moved_inline && run.state == Run::State::running && !run.chains.all_in_kernel() &&
           !may_stay_in_sockets(run);
}

void Scheduler::hand_over(Run& run) {
    if (!awaits_submission(run)) return;
    if (event_thread_submits_) {
        request_event_thread_();
    } else {
        submit(run);
    }
}

void Scheduler::submit(Run& run) {
    try {
        submission_.submit(run);
    } catch (const Error& error) {
        fail(run, error.what());
    }
}

// A step may complete, and the next begin, while its chain is being stopped: so again.
void Scheduler::take_back(Run& run) {
    const bool alone = runs_.size() == 1;
    for (int tries = 0; run.chains.any_in_kernel(); ++tries) {
        if (tries > 10000) {  // another thread's operations that do not come back: it does not run
            if (run.state == Run::State::running) run.moved_inline = false;
            return;
        }
        if (alone) {
            submission_.cancel_all();
        } else {
            submission_.cancel(run);
        }
        completions_.take_in();
        if (tries > 10) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

// As far as it goes now: host steps, and the stages.
void Scheduler::advance(Run& run, Caller caller) {
    auto result = HostSteps::Result::done;
    for (bool moved = true; moved;) {
        if (run.trace != nullptr) run.trace->look(run.chains);
        const std::size_t before = run.host.next;
        result = advance_host_steps(run, caller);
        moved = run.host.next != before;
        if (run.chains.stage_is_complete()) {
            run.chains.end_stage();
            moved = true;
        }
        if (run.may_begin_stage()) {
            begin_stage(run);
            moved = true;
        }
    }
    if (!run.alive()) return;
    if (run.everything_is_done()) return complete(run);
    if (result != HostSteps::Result::awaits_program && !run.host.intra_node.open) return;
    if (run.awaits_program) return;
    run.awaits_program = true;
    awaiting_program_.push_back(&run);
}

HostSteps::Result Scheduler::advance_host_steps(Run& run, Caller caller) {
    try {
        return host_steps_.advance(run, caller);
    } catch (const Error& error) {
        fail(run, error.what());
        return HostSteps::Result::awaits_kernel;
    }
}

void Scheduler::move_inline_or_fail(Run& run) {
    if (!move_inline(run)) fail_broken(run);
}

void Scheduler::complete(Run& run) {
    for (const Gate gate : run.operands.gates) gates_.give_back(gate);
    run.operands.gates.clear();
    run.state = Run::State::complete;
    remove(run);
}

void Scheduler::fail_broken(Run& run) {
    const PlannedStep& step = *run.broken_step;
    const bool at_gate = step.kind == Step::Kind::signal || step.kind == Step::Kind::await;
    fail(run, at_gate ? fmt::format("a gate of the kernel engine: {}", std::strerror(run.broken_by))
                      : why_broken(connections_, run.plan->peers[step.slot], run.broken_by));
}

void Scheduler::fail(Run& run, const std::string& why) {
    run.error = why;
    // The peers shall know, too; and what is in the kernel comes back.
    for (const int socket : run.operands.sockets) ::shutdown(socket, SHUT_RDWR);
    run.moved_inline = true;
    run.state = Run::State::failed;
    take_back(run);
    for (const Gate gate : run.operands.gates) Gates::close(gate);
    run.operands.gates.clear();
    remove(run);
}

// Its lane goes to the next.
void Scheduler::remove(Run& run) {
    runs_.remove(run);
    std::erase(changed_, &run);
    std::erase(awaiting_program_, &run);
    if (Run* const next = lanes_.remove(run)) changed_.push_back(next);
}

}  // namespace lapwing::kernel
