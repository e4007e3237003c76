#include "engines/kernel/plan.hpp"

#include <algorithm>
#include <unordered_map>

namespace lapwing::kernel {

Plan::Plan(const Chains& chains)
    : gates(chains.gates), scratch_bytes(chains.scratch_bytes), last(chains.last) {
    std::unordered_map<int, std::uint32_t> slots;
    const auto plan = [&](const Chain& chain) {
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
                        slots.try_emplace(step.peer, static_cast<std::uint32_t>(peers.size()));
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
        }
        return planned;
    };
    for (const Stage& stage : chains.stages) {
        PlannedStage& planned = stages.emplace_back();
        planned.local = stage.local;
        for (const Chain& chain : stage.chains) planned.chains.push_back(plan(chain));
    }
    for (const Chain& chain : chains.receives) receives.push_back(plan(chain));
    const auto look = [this](const std::vector<Task>& tasks) {
        for (const Task& task : tasks)
            if (task.kind == Kind::reduce && task.op == Operator::user) needs_caller = true;
    };
    look(last);
    for (const PlannedStage& stage : stages) look(stage.local);
    if (chains.stages.empty()) return;
    for (const Task& work : chains.stages.front().local) {
        for (const Chain& chain : chains.stages.front().chains) {
            for (const Step& step : chain) {
                if (step.kind == Step::Kind::send && step.span.overlaps(work.target))
                    local_may_follow = false;
            }
        }
    }
}

}  // namespace lapwing::kernel
