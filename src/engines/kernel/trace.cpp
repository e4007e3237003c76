#include "engines/kernel/trace.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {
namespace {

bool is_near(const std::vector<bool>& near, const Task& task) {
    const auto peer = static_cast<std::size_t>(task.peer);
    return task.peer >= 0 && peer < near.size() && near[peer];
}

}  // namespace

TracePlan::TracePlan(const List& list, const std::vector<bool>& near, const Chains& chains, const Plan& plan)
    : tasks_(list.tasks) {
    for (const Chain& chain : chains.receives) lines_.push_back(line_of(chain, true));
    for (const Stage& stage : chains.stages) {
        for (const Chain& chain : stage.chains) lines_.push_back(line_of(chain, false));
    }
    find_turns(near, plan);
    find_waits(near);
}

// A long message is several steps: its task is complete with the last of them.
TracePlan::Line TracePlan::line_of(const Chain& chain, bool receives) const {
    Line line;
    line.receives = receives;
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const Step& step = chain[i];
        const bool moves = step.kind == Step::Kind::send || step.kind == Step::Kind::receive;
        if (moves) line.bytes += step.span.length;
        if (receives && moves) line.peer = step.peer;
        bool last = moves;
        if (moves && step.span.length > 0) {
            const Task& task = tasks_[step.task];
            last = step.span.end() == (sends(task.kind) ? task.source : task.target).end();
        }
        line.tasks.push_back(last ? step.task : none);
    }
    return line;
}

// The processor takes its tasks in the list's order.
void TracePlan::find_turns(const std::vector<bool>& near, const Plan& plan) {
    std::uint32_t next = 0;
    for (const Turn& turn : plan.turns) {
        if (turn.kind == Turn::Kind::steps || turn.kind == Turn::Kind::stage ||
            turn.kind == Turn::Kind::end) {
            turns_.push_back(none);
            continue;
        }
        const auto is_turn = [&](const Task& task) {
            if (task.kind == Kind::copy || task.kind == Kind::reduce) return turn.kind == Turn::Kind::work;
            if (!is_near(near, task)) return false;
            if (task.kind == Kind::wait) return turn.kind == Turn::Kind::arrival && task.count > 0;
            return turn.kind == (sends(task.kind) ? Turn::Kind::send : Turn::Kind::receive);
        };
        while (next < tasks_.size() && !is_turn(tasks_[next])) ++next;
        if (next == tasks_.size())
            throw Error(ErrorCode::internal, "a turn of a plan is no task of its list");
        turns_.push_back(next++);
    }
}

void TracePlan::find_waits(const std::vector<bool>& near) {
    std::unordered_map<int, std::vector<std::uint32_t>> receives;
    std::unordered_map<int, std::size_t> waited;
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
        const Task& task = tasks_[i];
        if (is_near(near, task)) continue;
        if (task.kind == Kind::recv) receives[task.peer].push_back(i);
        if (task.kind != Kind::wait) continue;
        Wait& wait = waits_.emplace_back();
        wait.task = i;
        for (std::uint64_t n = 0; n < task.count; ++n)
            wait.receives.push_back(receives[task.peer].at(waited[task.peer]++));
    }
}

void RunTrace::start() {
    witness_.start();
    since_.assign(plan_.lines_.size(), 0);
    noted_.assign(plan_.lines_.size(), 0);
    known_.assign(plan_.tasks_.size(), false);
    wait_ = 0;
}

void RunTrace::handed_over(std::size_t line) {
    if (since_[line] == 0) since_[line] = trace::now();
}

void RunTrace::look(const Run& run) {
    std::uint64_t now = 0;
    const auto once = [&now] { return now != 0 ? now : now = trace::now(); };
    bool seen = false;
    for (std::size_t i = 0; i < run.lines.size(); ++i) {
        const Line& line = run.lines[i];
        const TracePlan::Line& planned = plan_.lines_[i];
        for (const std::uint32_t done = line.steps_done(); noted_[i] < done; ++noted_[i]) {
            const std::uint32_t task = planned.tasks[noted_[i]];
            if (task == TracePlan::none) continue;
            known_[task] = seen = true;
            see(task, once());
        }
        if (since_[i] == 0 || line.in_kernel) continue;
        trace::record({.began = since_[i],
                       .ended = once(),
                       .bytes = planned.bytes,
                       .operation = witness_.operation(),
                       .index = static_cast<std::uint32_t>(i),
                       .peer = planned.peer,
                       .what = trace::What::chain,
                       .kind = static_cast<std::uint8_t>(planned.receives ? 2 : 1)});
        since_[i] = 0;
    }
    if (!seen) return;
    for (; wait_ < plan_.waits_.size(); ++wait_) {
        const TracePlan::Wait& wait = plan_.waits_[wait_];
        if (!std::all_of(wait.receives.begin(), wait.receives.end(),
                         [this](std::uint32_t task) { return known_[task]; })) {
            break;
        }
        see(wait.task, now);
    }
}

void RunTrace::see(std::uint32_t task, std::uint64_t now) {
    const Task& of = plan_.tasks_[task];
    trace::record({.began = now,
                   .ended = now,
                   .bytes = Witness::amount(of),
                   .operation = witness_.operation(),
                   .index = task,
                   .peer = of.peer,
                   .what = trace::What::seen,
                   .kind = static_cast<std::uint8_t>(of.kind)});
}

// A wait for near peers lasts from its first turn on; all else is done in the turn that is not in vain.
void RunTrace::begin_turn(const Run& run) {
    if (run.plan->turns[run.turn].kind != Turn::Kind::arrival) witness_.forget();
    witness_.begin();
}

void RunTrace::end_turn(const Run& run) {
    const std::uint32_t task = plan_.turns_[run.turn];
    if (task != TracePlan::none) witness_.end(plan_.tasks_[task], task);
    witness_.forget();
}

}  // namespace lapwing::kernel
