#include "engines/kernel/prepared.hpp"

#include <utility>

#include "base/trace.hpp"

namespace lapwing::kernel {

KernelPrepared::KernelPrepared(const List& list, const std::vector<bool>& intra_node, const Chains& chains,
                               std::uint64_t socket_bytes, std::shared_ptr<KernelGroup> group)
    : plan_(chains, intra_node, socket_bytes), group_(std::move(group)) {
    // Connections are asked for now, so that the first start may find them made.
    group_->want(plan_);
    if (trace::on()) trace_ = std::make_unique<TracePlan>(list, intra_node, chains, plan_);
}

KernelPrepared::~KernelPrepared() = default;

Operation* KernelPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        auto run = std::make_unique<Run>(plan_);
        if (trace_ != nullptr) run->trace = std::make_unique<RunTrace>(*trace_);
        idle_.push_back(run.get());
        runs_.push_back(std::move(run));
    }
    Run* run = idle_.back();
    idle_.pop_back();
    run->operands.memory.buffers = buffers;
    if (run->trace != nullptr) run->trace->start(buffers.operation);
    group_->start(*run, channel);
    return run;
}

bool KernelPrepared::test(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    return finish(run, group_->test(run));
}

bool KernelPrepared::progress(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    return finish(run, group_->progress(run));
}

int KernelPrepared::prepare_to_sleep(Operation* operation) {
    return group_->prepare_to_sleep(static_cast<Run&>(*operation));
}

bool KernelPrepared::finish(Run& run, bool complete) {
    if (complete) idle_.push_back(&run);
    return complete;
}

}  // namespace lapwing::kernel
