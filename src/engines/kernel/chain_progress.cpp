#include "engines/kernel/chain_progress.hpp"

namespace lapwing::kernel {

void RunChains::restart() {
    chains_.clear();
    receives_ = receives_open_ = 0;
    stage_ = stage_open_ = in_kernel_ = 0;
    in_stage_ = false;
}

void RunChains::begin_receives(const ChainPlan& plan) {
    add(plan, plan.receives);
    receives_ = receives_open_ = chains_.size();
}

void RunChains::begin_stage(const ChainPlan& plan) {
    const std::size_t before = chains_.size();
    add(plan, plan.stages[stage_].end);
    stage_open_ = chains_.size() - before;
    in_stage_ = true;
}

void RunChains::end_stage() {
    in_stage_ = false;
    ++stage_;
}

bool RunChains::only_receives_left(const ChainPlan& plan) const {
    // A later stage begins in a call of a thread, which does the host steps before that stage. The same call
    // can take a short message out of its socket.
    if (!plan.is_short() && stage_ + (in_stage_ ? 1 : 0) != plan.stages.size()) return false;
    return std::ranges::none_of(chains_, [](const ChainProgress& progress) {
        return std::any_of(progress.chain->begin() + progress.step, progress.chain->end(),
                           [](const PlannedStep& step) { return step.kind == Step::Kind::send; });
    });
}

void RunChains::add(const ChainPlan& plan, std::size_t end) {
    while (chains_.size() < end) chains_.push_back({&plan.chains[chains_.size()]});
}

}  // namespace lapwing::kernel
