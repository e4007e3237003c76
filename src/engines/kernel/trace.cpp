#include "engines/kernel/trace.hpp"

#include <unordered_map>

#include "base/error.hpp"

namespace lapwing::kernel {
namespace {

constexpr std::uint32_t none = PlannedStep::no_task;

}  // namespace

TracePlan::TracePlan(const List& list, const std::vector<bool>& intra_node, const ChainPlan& plan)
    : chains_(plan), tasks_(list.tasks) {
    find_host_steps();
    find_waits(intra_node);
}

// Host steps that are tasks of the list are in the list's order.
void TracePlan::find_host_steps() {
    std::uint32_t next = 0;
    for (const HostStep& step : chains_.host.steps) {
        if (step.kind != HostStep::Kind::work && step.kind != HostStep::Kind::intra_node) {
            host_steps_.push_back(none);
            continue;
        }
        while (next < tasks_.size() && tasks_[next] != step.task) ++next;
        if (next == tasks_.size())
            throw Error(ErrorCode::internal, "a host step of a plan is not a task of its list");
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
        const std::size_t end = waited[task.peer] += task.count;
        waits_.push_back({i, end == 0 ? none : receives[task.peer].at(end - 1)});
    }
}

void RunTrace::start(std::uint64_t operation) {
    tracer_.start(operation);
    since_.assign(plan_.chains_.chains.size(), 0);
    seen_.assign(plan_.chains_.chains.size(), 0);
    known_.assign(plan_.tasks_.size(), false);
    wait_ = 0;
}

void RunTrace::submitted(std::size_t chain) {
    if (since_[chain] == 0) since_[chain] = trace::now();
}

void RunTrace::record_completed(const RunChains& chains) {
    std::uint64_t now = 0;
    const auto once = [&now] { return now != 0 ? now : now = trace::now(); };
    bool any = false;
    for (std::size_t i = 0; i < chains.size(); ++i) {
        const PlannedChain& chain = *chains[i].chain;
        for (const std::uint32_t done = chains[i].steps_done(); seen_[i] < done; ++seen_[i]) {
            const std::uint32_t task = chain[seen_[i]].task;
            if (task == none) continue;
            known_[task] = any = true;
            tracer_.seen(plan_.tasks_[task], task, once());
        }
        if (since_[i] == 0 || chains[i].in_kernel) continue;
        int peer = -1;  // of a chain of receives
        std::uint64_t bytes = 0;
        for (const PlannedStep& step : chain) {
            if (!step.is_signal) bytes += step.bytes;
            if (i < plan_.chains_.receives && step.has_peer()) peer = plan_.chains_.peers[step.slot];
        }
        trace::record({.began = since_[i],
                       .ended = once(),
                       .bytes = bytes,
                       .operation = tracer_.operation(),
                       .index = static_cast<std::uint32_t>(i),
                       .peer = peer,
                       .what = trace::What::chain,
                       .kind = static_cast<std::uint8_t>(peer >= 0 ? 2 : 1)});
        since_[i] = 0;
    }
    if (!any) return;
    for (; wait_ < plan_.waits_.size(); ++wait_) {
        const TracePlan::Wait& wait = plan_.waits_[wait_];
        if (wait.last_receive != none && !known_[wait.last_receive]) break;
        tracer_.seen(plan_.tasks_[wait.task], wait.task, now);
    }
}

// A wait for intra-node peers begins with its first try. Every other step begins with the try that succeeds.
void RunTrace::begin_host_step(const HostStep& step) {
    if (step.kind != HostStep::Kind::intra_node || step.task.kind != Kind::wait) tracer_.forget();
    tracer_.begin();
}

void RunTrace::end_host_step(std::size_t index) {
    const std::uint32_t task = plan_.host_steps_[index];
    if (task != none) tracer_.end(plan_.tasks_[task], task);
    tracer_.forget();
}

}  // namespace lapwing::kernel
