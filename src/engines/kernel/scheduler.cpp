#include "engines/kernel/scheduler.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {
Scheduler::Scheduler(Connections& connections, const Options& options, Link* intra_node,
                     std::function<void()> request_event_thread)
    : connections_(connections),
      event_thread_submits_(options.event_thread_submits),
      request_event_thread_(std::move(request_event_thread)),
      lanes_(static_cast<std::size_t>(std::max(1, connections.lanes() - options.persistent_lanes))),
      submission_(ring_),
      completions_(ring_, runs_, changed_),
      host_steps_(intra_node, options.event_thread_lists) {}

void Scheduler::want(const ChainPlan& plan) {
    for (std::size_t lane = 0; lane < lanes_.shared(); ++lane) {
        for (const int peer : plan.peers) connections_.want(peer, static_cast<int>(lane));
    }
}

void Scheduler::start(KernelRun& run, std::uint32_t channel, bool by_event_thread) {
    run.restart();
    run.by_event_thread = run.host.intra_node.any_thread = by_event_thread;
    run.channel = channel;
    run.lane = lanes_.lane_of(channel);
    // Lanes of persistent channels are connected at their first use.
    if (run.lane >= lanes_.shared()) {
        for (const int peer : run.plan->peers) connections_.want(peer, static_cast<int>(run.lane));
    }
    runs_.add(run);
    lanes_.add(run);
    // The messages of the run before it may no longer wait in the sockets.
    if (!lanes_.has_lane(run)) changed_.push_back(&lanes_.holder(run));
    // Host steps that the first sends depend on come before the launch, the others after it.
    if (run.plan->stages.front().host_steps > 0) advance(run, Caller::program);
    launch(run);
    advance(run, Caller::program);
    resume_awaiting_program();
    process_changed(Caller::program);
}

void Scheduler::test(KernelRun& run) {
    run.advanced_inline = false;
    completions_.poll();
    if (may_stay_in_sockets(run)) advance_inline_or_fail(run);
    changed_.push_back(&run);
    resume_awaiting_program();
    process_changed(Caller::program);
}

void Scheduler::progress(KernelRun& run) {
    completions_.poll();
    resume_awaiting_program();
    process_changed(Caller::program);
    if (run.state == KernelRun::State::queued) launch(run);
    // A caller that waits for a short list, or for messages that stayed in the sockets, does the steps
    // itself. That saves an interrupt for each message.
    if (run.state == KernelRun::State::running && (run.plan->is_short() || may_stay_in_sockets(run))) {
        run.advanced_inline = true;
        cancel_in_kernel(run);
        if (run.state == KernelRun::State::running) advance_inline_or_fail(run);
    } else {
        submit_if_needed(run);
    }
    advance(run, Caller::program);
    process_changed(Caller::program);
}

void Scheduler::prepare_to_sleep(KernelRun& run) {
    run.advanced_inline = false;
    run.has_sleeper = true;
    changed_.push_back(&run);
    resume_awaiting_program();
    process_changed(Caller::program);
}

bool Scheduler::awaits_intra_node() const {
    return std::any_of(awaiting_program_.begin(), awaiting_program_.end(),
                       [](const KernelRun* run) { return run->host.intra_node.open; });
}

bool Scheduler::run_on_event_thread() {
    const std::uint64_t handled = completions_.handled();
    completions_.poll();
    sockets_.collect();
    sleeper_is_done_ = false;
    lanes_.for_each_holder([this](KernelRun& run) {
        if (!run.advanced_inline) changed_.push_back(&run);
    });
    if (event_thread_submits_) {
        for (KernelRun* run : runs_.by_id()) {
            if (run != nullptr && awaits_submission(*run)) submit(*run);
        }
    }
    const std::size_t awaiting = awaiting_program_.size();
    process_changed(Caller::event_thread);
    return sleeper_is_done_ || awaiting_program_.size() != awaiting ||
           (completions_.handled() != handled && !awaiting_program_.empty());
}

bool Scheduler::advance_intra_node(KernelRun& run) {
    sleeper_is_done_ = false;
    if (run.alive() && !run.advanced_inline) advance(run, Caller::event_thread);
    process_changed(Caller::event_thread);
    return sleeper_is_done_;
}

bool Scheduler::needs_event_thread() const {
    if (lanes_.any_run_waits()) return true;
    const std::vector<KernelRun*>& runs = runs_.by_id();
    return host_steps_.event_thread_works() &&
           std::any_of(runs.begin(), runs.end(), [this](const KernelRun* run) {
               return run != nullptr && run->state == KernelRun::State::running &&
                      !run->event_thread_advances() && host_steps_.event_thread_may_help(*run);
           });
}

void Scheduler::resume_awaiting_program() {
    for (KernelRun* run : awaiting_program_) {
        run->awaits_program = false;
        changed_.push_back(run);
    }
    awaiting_program_.clear();
}

// Advances the runs that have changed, and those that get a lane thereby.
void Scheduler::process_changed(Caller caller) {
    while (!changed_.empty()) {
        KernelRun& run = *changed_.back();
        changed_.pop_back();
        if (run.state == KernelRun::State::queued) launch(run);
        if (run.by_event_thread && !run.advanced_inline && run.state == KernelRun::State::running)
            advance_inline_or_fail(run);
        if (run.state == KernelRun::State::running && run.broken_step != nullptr) fail_broken(run);
        submit_if_needed(run);
        advance(run, caller);
    }
}

// If the run has its lane and all its connections are made.
void Scheduler::launch(KernelRun& run) {
    if (run.state != KernelRun::State::queued || !lanes_.has_lane(run)) return;
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
            operands.gates.push_back(gates_.acquire());
    } catch (const Error& error) {
        operands.sockets.clear();
        fail(run, error.what());
        return;
    }
    run.state = KernelRun::State::running;
    run.chains.begin_receives(*run.plan);
    // Before the local work, if that may follow.
    if (run.may_begin_stage()) {
        begin_stage(run);
    } else {
        submit_if_needed(run);
    }
}

void Scheduler::begin_stage(KernelRun& run) {
    run.chains.begin_stage(*run.plan);
    if (run.plan->may_wait_in_sockets()) advance_inline_or_fail(run);
    submit_if_needed(run);
}

// Until a thread calls, the run only receives: either no other rank waits for what this rank does with the
// messages, or the list is short and a thread must work before the next send. Then the messages may wait in
// the sockets. Submitting the chains, with an interrupt for each message, would cost more than the copies
// that it hides.
bool Scheduler::may_stay_in_sockets(const KernelRun& run) const {
    return run.plan->may_wait_in_sockets() && !run.has_sleeper && run.state == KernelRun::State::running &&
           !lanes_.has_waiter(run) && !host_steps_.event_thread_may_help(run) &&
           !run.chains.any_in_kernel() && run.chains.only_receives_left(*run.plan) &&
           run.plan->host.intra_node().empty();
}

// Whether chains are to be submitted: some are not in the kernel, and no caller does their steps inline.
bool Scheduler::awaits_submission(const KernelRun& run) const {
    return !run.advanced_inline && !run.event_thread_advances() && run.state == KernelRun::State::running &&
           !run.chains.all_in_kernel() && !may_stay_in_sockets(run);
}

void Scheduler::submit_if_needed(KernelRun& run) {
    if (!awaits_submission(run)) return;
    if (event_thread_submits_) {
        request_event_thread_();
    } else {
        submit(run);
    }
}

// Of a run that the event thread advances: the descriptors that its chains wait for.
void Scheduler::watch_sockets(KernelRun& run) {
    if (!run.event_thread_advances() || run.advanced_inline || run.state != KernelRun::State::running) return;
    try {
        for (std::size_t i = 0; i < run.chains.size(); ++i) {
            const ChainProgress& chain = run.chains[i];
            if (chain.in_kernel || chain.done()) continue;
            sockets_.watch(run.operands.descriptor(chain.next()), chain.next().sends());
        }
    } catch (const Error&) {
        // The kernel advances the chains instead.
        run.by_event_thread = false;
        submit_if_needed(run);
    }
}

void Scheduler::submit(KernelRun& run) {
    try {
        submission_.submit(run);
    } catch (const Error& error) {
        fail(run, error.what());
    }
}

// Repeats, because a step may complete and the next begin while the chain is being cancelled.
void Scheduler::cancel_in_kernel(KernelRun& run) {
    const bool alone = runs_.size() == 1;
    for (int tries = 0; run.chains.any_in_kernel(); ++tries) {
        if (tries > 10000) {  // the thread that submitted the operations does not run
            if (run.state == KernelRun::State::running) run.advanced_inline = false;
            return;
        }
        if (alone) {
            submission_.cancel_all();
        } else {
            submission_.cancel(run);
        }
        completions_.poll();
        if (tries > 10) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

// Does host steps and begins stages, until the run must wait.
void Scheduler::advance(KernelRun& run, Caller caller) {
    auto result = HostSteps::Result::done;
    for (bool moved = true; moved;) {
        if (run.trace != nullptr) run.trace->record_completed(run.chains);
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
    watch_sockets(run);
    if (result != HostSteps::Result::awaits_program && !run.host.intra_node.open) return;
    if (run.awaits_program) return;
    run.awaits_program = true;
    awaiting_program_.push_back(&run);
}

HostSteps::Result Scheduler::advance_host_steps(KernelRun& run, Caller caller) {
    try {
        return host_steps_.advance(run, caller);
    } catch (const Error& error) {
        fail(run, error.what());
        return HostSteps::Result::awaits_kernel;
    }
}

void Scheduler::advance_inline_or_fail(KernelRun& run) {
    if (!advance_inline(run)) fail_broken(run);
}

void Scheduler::complete(KernelRun& run) {
    for (const Gate gate : run.operands.gates) gates_.release(gate);
    run.operands.gates.clear();
    run.state = KernelRun::State::complete;
    remove(run);
}

void Scheduler::fail_broken(KernelRun& run) {
    const PlannedStep& step = *run.broken_step;
    const bool at_gate = step.kind == Step::Kind::signal || step.kind == Step::Kind::await;
    fail(run, at_gate ? fmt::format("a gate of the kernel engine failed: {}", std::strerror(run.broken_by))
                      : why_broken(connections_, run.plan->peers[step.slot], run.broken_by));
}

void Scheduler::fail(KernelRun& run, const std::string& why) {
    run.error = why;
    // The peers notice the failure, and operations in the kernel complete.
    for (const int socket : run.operands.sockets) ::shutdown(socket, SHUT_RDWR);
    run.advanced_inline = true;
    run.state = KernelRun::State::failed;
    cancel_in_kernel(run);
    for (const int socket : run.operands.sockets) sockets_.forget(socket);
    for (const Gate gate : run.operands.gates) {
        sockets_.forget(gate.exit);
        sockets_.forget(gate.entrance);
        Gates::close(gate);
    }
    run.operands.gates.clear();
    remove(run);
}

// The lane goes to the next run in its queue.
void Scheduler::remove(KernelRun& run) {
    sleeper_is_done_ = sleeper_is_done_ || run.has_sleeper;
    runs_.remove(run);
    std::erase(changed_, &run);
    std::erase(awaiting_program_, &run);
    if (KernelRun* const next = lanes_.remove(run)) changed_.push_back(next);
}

}  // namespace lapwing::kernel
