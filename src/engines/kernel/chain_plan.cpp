#include "engines/kernel/chain_plan.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lapwing::kernel {
namespace {

bool is_intra_node(const std::vector<bool>& intra_node, int peer) {
    return static_cast<std::size_t>(peer) < intra_node.size() && intra_node[static_cast<std::size_t>(peer)];
}

// Whether the stage's chains may be handed over before its local work is done, which then happens while they
// are on their way: no send reads what the work writes, and it waits for nobody.
bool work_may_follow(const Stage& stage) {
    for (const Task& task : stage.local) {
        if (task.kind == Kind::wait) return false;
        if (task.kind != Kind::copy && task.kind != Kind::reduce) continue;
        for (const Chain& chain : stage.chains) {
            for (const Step& step : chain) {
                if (step.kind == Step::Kind::send && step.span.overlaps(task.target)) return false;
            }
        }
    }
    return true;
}

}  // namespace

ChainPlan::ChainPlan(const Chains& chains, const std::vector<bool>& intra_node)
    : gates(chains.gates), scratch_bytes(chains.scratch_bytes) {
    Arrivals arrivals;
    for (const Chain& chain : chains.receives) receives.push_back(plan(chain, arrivals));
    for (const Stage& stage : chains.stages) {
        PlannedStage& planned = stages.emplace_back();
        for (const Chain& chain : stage.chains) planned.chains.push_back(plan(chain, arrivals));
    }
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const Stage& stage = chains.stages[i];
        if (i > 0 && !stage.local.empty()) host_steps.push_back({HostStep::Kind::stage, 0, i});
        run_host_steps(stage.local, intra_node, arrivals);
        stages[i].host_steps = i == 0 && work_may_follow(stage) ? 0 : host_steps.size();
        run_host_steps(stage.beside, intra_node, arrivals);
    }
    if (!chains.last.empty()) host_steps.push_back({HostStep::Kind::end});
    run_host_steps(chains.last, intra_node, arrivals);
}

PlannedChain ChainPlan::plan(const Chain& chain, Arrivals& arrivals) {
    PlannedChain planned;
    planned.reserve(chain.size());
    for (const Step& step : chain) {
        PlannedStep& next = planned.emplace_back();
        next.kind = step.kind;
        next.space = step.span.space;
        next.offset = step.span.offset;
        switch (step.kind) {
            case Step::Kind::send:
            case Step::Kind::receive: {
                const auto [slot, added] =
                    slots_.try_emplace(step.peer, static_cast<std::uint32_t>(peers.size()));
                if (added) peers.push_back(step.peer);
                next.slot = slot->second;
                next.is_signal = step.span.length == 0;
                next.bytes = next.is_signal ? 1 : step.span.length;
                wire_bytes += next.bytes;
                break;
            }
            case Step::Kind::signal:
            case Step::Kind::await:
                next.slot = static_cast<std::uint32_t>(step.gate);
                next.is_signal = true;
                next.bytes = step.kind == Step::Kind::signal ? 1 : step.count;
                most_signals = std::max(most_signals, next.bytes);
                break;
        }
        if (step.kind != Step::Kind::receive) continue;
        // A long message is several steps.
        std::vector<Arrival>& of_peer = arrivals[step.peer];
        if (of_peer.empty() || of_peer.back().task != step.task) of_peer.emplace_back();
        of_peer.back() = {lines_, static_cast<std::uint32_t>(planned.size()), step.task};
    }
    ++lines_;
    return planned;
}

void ChainPlan::run_host_steps(const std::vector<Task>& tasks, const std::vector<bool>& intra_node,
                               const Arrivals& arrivals) {
    for (const Task& task : tasks) {
        switch (task.kind) {
            case Kind::copy:
            case Kind::reduce:
                has_work = true;
                if (task.kind == Kind::reduce && task.op == Operator::user) needs_caller = true;
                host_steps.push_back({HostStep::Kind::work, 0, 0, task});
                break;
            case Kind::send:
                has_intra_node = true;
                host_steps.push_back({HostStep::Kind::send, 0, messages.send(), task});
                break;
            case Kind::recv:
                has_intra_node = true;
                host_steps.push_back({HostStep::Kind::receive, 0, messages.recv(task.peer), task});
                posted = host_steps.size();
                break;
            case Kind::wait:
                if (is_intra_node(intra_node, task.peer)) {
                    host_steps.push_back({HostStep::Kind::arrival, 0, messages.wait(task.peer, task.count)});
                } else {
                    const Arrival& last = arrivals.at(task.peer).at(task.count - 1);
                    line(last.line)[last.steps - 1].tells = true;
                    host_steps.push_back({HostStep::Kind::steps, last.line, last.steps});
                }
                break;
            case Kind::enable_send:
            case Kind::enable_recv:
                throw Error(ErrorCode::internal, "the kernel engine runs lists, not queues");
        }
    }
}

PlannedChain& ChainPlan::line(std::uint32_t index) {
    if (index < receives.size()) return receives[index];
    index -= static_cast<std::uint32_t>(receives.size());
    std::size_t stage = 0;
    for (; index >= stages[stage].chains.size(); ++stage)
        index -= static_cast<std::uint32_t>(stages[stage].chains.size());
    return stages[stage].chains[index];
}

}  // namespace lapwing::kernel
