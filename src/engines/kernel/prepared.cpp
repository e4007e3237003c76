#include "engines/kernel/prepared.hpp"

#include <utility>

#include "base/trace.hpp"

namespace lapwing::kernel {

KernelPrepared::KernelPrepared(const List& list, const std::vector<bool>& intra_node, const Chains& chains,
                               std::uint64_t socket_bytes, std::shared_ptr<KernelGroup> group)
    : plan_(chains, intra_node, socket_bytes), group_(std::move(group)) {
    // Requests the connections now, so that the first start may find them connected.
    group_->want(plan_);
    if (trace::on()) trace_ = std::make_unique<TracePlan>(list, intra_node, chains, plan_);
}

KernelPrepared::~KernelPrepared() = default;

Operation* KernelPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        auto run = std::make_unique<KernelRun>(plan_);
        if (trace_ != nullptr) run->trace = std::make_unique<RunTrace>(*trace_);
        idle_.push_back(run.get());
        runs_.push_back(std::move(run));
    }
    KernelRun* run = idle_.back();
    idle_.pop_back();
    run->operands.memory.buffers = buffers;
    if (run->trace != nullptr) run->trace->start();
    group_->start(*run, channel);
    return run;
}

bool KernelPrepared::test(Operation* operation) {
    KernelRun& run = static_cast<KernelRun&>(*operation);
    return finish(run, group_->test(run));
}

bool KernelPrepared::progress(Operation* operation) {
    KernelRun& run = static_cast<KernelRun&>(*operation);
    return finish(run, group_->progress(run));
}

int KernelPrepared::prepare_to_sleep(Operation* operation) {
    return group_->prepare_to_sleep(static_cast<KernelRun&>(*operation));
}

bool KernelPrepared::finish(KernelRun& run, bool complete) {
    if (complete) idle_.push_back(&run);
    return complete;
}

}  // namespace lapwing::kernel
