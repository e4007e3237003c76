// What the processor does for a run: its copies and reductions, the messages of intra-node peers, and the
// stages that begin when it has come so far.
#include "base/error.hpp"
#include "engines/kernel/reactor.hpp"
#include "engines/local_work.hpp"

namespace lapwing::kernel {

// For a thread of the program.
void Reactor::resume_needing_thread() {
    for (Run* run : needing_thread_) {
        run->needs_thread = false;
        touched_.push_back(run);
    }
    needing_thread_.clear();
}

// As far as it goes now: what the processor does, and the stages.
void Reactor::advance(Run& run, bool may_work) {
    const ChainPlan& plan = *run.plan;
    StepResult result = StepResult::on;
    for (bool moved = true; moved;) {
        if (run.trace != nullptr) run.trace->look(run);
        const std::size_t host_step = run.host_step;
        result = run_host_steps(run, may_work);
        moved = run.host_step != host_step;
        if (run.in_stage && run.stage_open == 0) {
            run.in_stage = false;
            ++run.stage;
            moved = true;
        }
        if (may_enter_stage(run)) {
            enter_stage(run);
            moved = true;
        }
    }
    if (!run.alive()) return;
    if (run.stage == plan.stages.size() && run.host_step == plan.host_steps.size() &&
        run.receives_open == 0 && run.notifications == 0 && !run.intra_node_open) {
        return complete(run);
    }
    if (run.needs_thread || !(result == StepResult::held || run.intra_node_open)) return;
    run.needs_thread = wants_thread_ = true;
    needing_thread_.push_back(&run);
}

// When the processor has done what stands before the stage's chains, and those of the stage before are
// complete.
bool Reactor::may_enter_stage(const Run& run) const {
    const std::vector<PlannedStage>& stages = run.plan->stages;
    return run.state == Run::State::running && !run.in_stage && run.stage < stages.size() &&
           run.host_step >= stages[run.stage].host_steps;
}

// In order, until one must wait, or a stage goes first.
Reactor::StepResult Reactor::run_host_steps(Run& run, bool may_work) {
    if (!run.alive()) return StepResult::waits;
    look_at_intra_node(run);
    while (run.alive() && !may_enter_stage(run) && run.host_step < run.plan->host_steps.size()) {
        if (run.trace != nullptr) run.trace->begin_host_step(run);
        const StepResult result = run_host_step(run, run.plan->host_steps[run.host_step], may_work);
        if (result != StepResult::on) return result;
        if (run.trace != nullptr) run.trace->end_host_step(run);
        ++run.host_step;
    }
    return StepResult::on;
}

Reactor::StepResult Reactor::run_host_step(Run& run, const HostStep& host_step, bool may_work) {
    const auto on_if = [](bool met) { return met ? StepResult::on : StepResult::waits; };
    switch (host_step.kind) {
        case HostStep::Kind::work:
            if (!may_work || (run.plan->needs_caller && attending_)) return StepResult::held;
            work(run.memory, {&host_step.task, 1});
            return StepResult::on;
        case HostStep::Kind::send:
        case HostStep::Kind::receive:
            return exchange_intra_node(run, host_step) ? StepResult::on : StepResult::held;
        case HostStep::Kind::arrival:
            return run.messages.seen(host_step.index) ? StepResult::on : StepResult::held;
        case HostStep::Kind::steps:
            return on_if(host_step.line < run.lines.size() &&
                         run.lines[host_step.line].steps_done() >= host_step.index);
        case HostStep::Kind::stage:
            return on_if(run.stage >= host_step.index);
        case HostStep::Kind::end:
            break;
    }
    return on_if(run.stage == run.plan->stages.size() && run.receives_open == 0 && run.notifications == 0);
}

bool Reactor::intra_node_is_ready() {
    if (!intra_node_ready_ && !attending_) intra_node_ready_ = context_.intra_node->ready();
    return intra_node_ready_ && !attending_;
}

// Starts a message to or from an intra-node peer.
bool Reactor::exchange_intra_node(Run& run, const HostStep& host_step) {
    try {
        if (!intra_node_is_ready()) return false;
        const Task& task = host_step.task;
        Link::Transfer& transfer = run.messages[host_step.index];
        if (host_step.kind == HostStep::Kind::receive) {
            context_.intra_node->recv(task.peer, run.memory.target(task.target), task.target.length,
                                      run.channel, transfer);
        } else {
            context_.intra_node->send(task.peer, run.memory.source(task.source), task.source.length,
                                      run.channel, transfer);
            ++run.intra_node_sends;
        }
        run.intra_node_open = true;
        return true;
    } catch (const Error& error) {
        fail(run, error.what());
        return false;
    }
}

// Takes in what has come, also before its host step: the peer may need that to go on.
void Reactor::look_at_intra_node(Run& run) {
    const ChainPlan& plan = *run.plan;
    if (!run.intra_node_open || run.host_step < plan.posted) return;
    try {
        if (!intra_node_is_ready()) return;
        const bool arrived =
            run.messages.arrived(*context_.intra_node, plan.messages, plan.messages.awaited().size());
        const bool sent = run.messages.sent(*context_.intra_node, plan.messages, run.intra_node_sends);
        run.intra_node_open = !arrived || !sent;
    } catch (const Error& error) {
        fail(run, error.what());
    }
}

}  // namespace lapwing::kernel
