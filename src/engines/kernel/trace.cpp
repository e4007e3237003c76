#include "engines/kernel/trace.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {
namespace {

bool is_intra_node(const std::vector<bool>& intra_node, const Task& task) {
    const auto peer = static_cast<std::size_t>(task.peer);
    return task.peer >= 0 && peer < intra_node.size() && intra_node[peer];
}

}  // namespace

TracePlan::TracePlan(const List& list, const std::vector<bool>& intra_node, const Chains& chains,
                     const ChainPlan& plan)
    : tasks_(list.tasks) {
    for (const Chain& chain : chains.receives) lines_.push_back(line_of(chain, true));
    for (const Stage& stage : chains.stages) {
        for (const Chain& chain : stage.chains) lines_.push_back(line_of(chain, false));
    }
    find_host_steps(intra_node, plan);
    find_waits(intra_node);
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
void TracePlan::find_host_steps(const std::vector<bool>& intra_node, const ChainPlan& plan) {
    std::uint32_t next = 0;
    for (const HostStep& host_step : plan.host_steps) {
        if (host_step.kind == HostStep::Kind::steps || host_step.kind == HostStep::Kind::stage ||
            host_step.kind == HostStep::Kind::end) {
            host_steps_.push_back(none);
            continue;
        }
        const auto is_turn = [&](const Task& task) {
            if (task.kind == Kind::copy || task.kind == Kind::reduce)
                return host_step.kind == HostStep::Kind::work;
            if (!is_intra_node(intra_node, task)) return false;
            if (task.kind == Kind::wait) return host_step.kind == HostStep::Kind::arrival && task.count > 0;
            return host_step.kind == (sends(task.kind) ? HostStep::Kind::send : HostStep::Kind::receive);
        };
        while (next < tasks_.size() && !is_turn(tasks_[next])) ++next;
        if (next == tasks_.size())
            throw Error(ErrorCode::internal, "a turn of a plan is no task of its list");
        host_steps_.push_back(next++);
    }
}

void TracePlan::find_waits(const std::vector<bool>& intra_node) {
    std::unordered_map<int, std::vector<std::uint32_t>> receives;
    std::unordered_map<int, std::size_t> waited;
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
        const Task& task = tasks_[i];
        if (is_intra_node(intra_node, task)) continue;
        if (task.kind == Kind::recv) receives[task.peer].push_back(i);
        if (task.kind != Kind::wait) continue;
        Wait& wait = waits_.emplace_back();
        wait.task = i;
        for (std::uint64_t n = 0; n < task.count; ++n)
            wait.receives.push_back(receives[task.peer].at(waited[task.peer]++));
    }
}

void RunTrace::start() {
    tracer_.start();
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
                       .operation = tracer_.operation(),
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
                   .bytes = TaskTracer::amount(of),
                   .operation = tracer_.operation(),
                   .index = task,
                   .peer = of.peer,
                   .what = trace::What::seen,
                   .kind = static_cast<std::uint8_t>(of.kind)});
}

// A wait for intra-node peers lasts from its first host step on; all else is done in the host step that is
// not in vain.
void RunTrace::begin_host_step(const Run& run) {
    if (run.plan->host_steps[run.host_step].kind != HostStep::Kind::arrival) tracer_.forget();
    tracer_.begin();
}

void RunTrace::end_host_step(const Run& run) {
    const std::uint32_t task = plan_.host_steps_[run.host_step];
    if (task != TracePlan::none) tracer_.end(plan_.tasks_[task], task);
    tracer_.forget();
}

}  // namespace lapwing::kernel
