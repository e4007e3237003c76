// What the processor does for a run: its copies and reductions, the messages of near peers, and the stages
// that begin when it has come so far.
#include "base/error.hpp"
#include "engines/kernel/reactor.hpp"
#include "engines/local_work.hpp"

namespace lapwing::kernel {

// For a thread of the program.
void Reactor::call_in_threadless() {
    for (Run* run : threadless_) {
        run->needs_thread = false;
        touched_.push_back(run);
    }
    threadless_.clear();
}

// As far as it goes now: what the processor does, and the stages.
void Reactor::advance(Run& run, bool may_work) {
    const Plan& plan = *run.plan;
    Turned turned = Turned::on;
    for (bool moved = true; moved;) {
        if (run.trace != nullptr) run.trace->look(run);
        const std::size_t turn = run.turn;
        turned = take_turns(run, may_work);
        moved = run.turn != turn;
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
    if (run.stage == plan.stages.size() && run.turn == plan.turns.size() && run.receives_open == 0 &&
        run.notifications == 0 && !run.near_open) {
        return complete(run);
    }
    if (run.needs_thread || !(turned == Turned::held || run.near_open)) return;
    run.needs_thread = wants_thread_ = true;
    threadless_.push_back(&run);
}

// When the processor has done what stands before the stage's chains, and those of the stage before are
// complete.
bool Reactor::may_enter_stage(const Run& run) const {
    const std::vector<PlannedStage>& stages = run.plan->stages;
    return run.state == Run::State::running && !run.in_stage && run.stage < stages.size() &&
           run.turn >= stages[run.stage].turns;
}

// In order, until one must wait, or a stage goes first.
Reactor::Turned Reactor::take_turns(Run& run, bool may_work) {
    if (!run.alive()) return Turned::waits;
    look_at_near(run);
    while (run.alive() && !may_enter_stage(run) && run.turn < run.plan->turns.size()) {
        if (run.trace != nullptr) run.trace->begin_turn(run);
        const Turned turned = take_turn(run, run.plan->turns[run.turn], may_work);
        if (turned != Turned::on) return turned;
        if (run.trace != nullptr) run.trace->end_turn(run);
        ++run.turn;
    }
    return Turned::on;
}

Reactor::Turned Reactor::take_turn(Run& run, const Turn& turn, bool may_work) {
    const auto on_if = [](bool met) { return met ? Turned::on : Turned::waits; };
    switch (turn.kind) {
        case Turn::Kind::work:
            if (!may_work || (run.plan->needs_caller && attending_)) return Turned::held;
            work(run.memory, {&turn.task, 1});
            return Turned::on;
        case Turn::Kind::send:
        case Turn::Kind::receive:
            return exchange_near(run, turn) ? Turned::on : Turned::held;
        case Turn::Kind::arrival:
            return run.messages.seen(turn.index) ? Turned::on : Turned::held;
        case Turn::Kind::steps:
            return on_if(turn.line < run.lines.size() && run.lines[turn.line].steps_done() >= turn.index);
        case Turn::Kind::stage:
            return on_if(run.stage >= turn.index);
        case Turn::Kind::end:
            break;
    }
    return on_if(run.stage == run.plan->stages.size() && run.receives_open == 0 && run.notifications == 0);
}

bool Reactor::near_is_ready() {
    if (!near_ready_ && !attending_) near_ready_ = ground_.near->ready();
    return near_ready_ && !attending_;
}

// Starts a message to or from a near peer.
bool Reactor::exchange_near(Run& run, const Turn& turn) {
    try {
        if (!near_is_ready()) return false;
        const Task& task = turn.task;
        Link::Transfer& transfer = run.messages[turn.index];
        if (turn.kind == Turn::Kind::receive) {
            ground_.near->recv(task.peer, run.memory.target(task.target), task.target.length, run.channel,
                               transfer);
        } else {
            ground_.near->send(task.peer, run.memory.source(task.source), task.source.length, run.channel,
                               transfer);
            ++run.near_sends;
        }
        run.near_open = true;
        return true;
    } catch (const Error& error) {
        fail(run, error.what());
        return false;
    }
}

// Takes in what has come, also before its turn: the peer may need that to go on.
void Reactor::look_at_near(Run& run) {
    const Plan& plan = *run.plan;
    if (!run.near_open || run.turn < plan.posted) return;
    try {
        if (!near_is_ready()) return;
        const bool arrived =
            run.messages.arrived(*ground_.near, plan.messages, plan.messages.awaited().size());
        const bool sent = run.messages.sent(*ground_.near, plan.messages, run.near_sends);
        run.near_open = !arrived || !sent;
    } catch (const Error& error) {
        fail(run, error.what());
    }
}

}  // namespace lapwing::kernel
