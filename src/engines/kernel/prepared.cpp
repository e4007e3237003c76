#include "engines/kernel/prepared.hpp"

#include <utility>

#include "base/trace.hpp"

namespace lapwing::kernel {

KernelPrepared::KernelPrepared(const List& list, const std::vector<bool>& intra_node, const Chains& chains,
                               const Options& options, std::shared_ptr<KernelGroup> group,
                               std::shared_ptr<PersistentLanes> persistent_lanes)
    : plan_(chains, intra_node, options),
      group_(std::move(group)),
      persistent_lanes_(std::move(persistent_lanes)) {
    // Requests the connections now, so that the first start may find them connected.
    group_->want(plan_);
    if (trace::on()) trace_ = std::make_unique<TracePlan>(list, intra_node, chains, plan_);
}

KernelPrepared::~KernelPrepared() = default;

Operation* KernelPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    KernelRun& run = runs_.take([this] { return std::make_unique<KernelRun>(plan_, trace_.get()); });
    run.operands.memory.buffers = buffers;
    if (run.trace != nullptr) run.trace->start(buffers.operation);
    group_->start(run, channel);
    return &run;
}

bool KernelPrepared::test(Operation* operation) {
    KernelRun& run = static_cast<KernelRun&>(*operation);
    return release_if(group_->test(run), run);
}

bool KernelPrepared::progress(Operation* operation) {
    KernelRun& run = static_cast<KernelRun&>(*operation);
    return release_if(group_->progress(run), run);
}

int KernelPrepared::prepare_to_sleep(Operation* operation) {
    return group_->prepare_to_sleep(static_cast<KernelRun&>(*operation));
}

std::uint32_t KernelPrepared::accept(std::uint32_t, int lane) {
    persistent_lanes_->accept(lane);
    return first_persistent_channel + static_cast<std::uint32_t>(lane);
}

void KernelPrepared::release_channel(std::uint32_t channel) {
    const std::uint32_t lane = channel - first_persistent_channel;
    if (lane < PersistentLanes::count)
        persistent_lanes_->release(static_cast<int>(lane));
    else
        persistent_lanes_->decline();  // it was only offered
}

bool KernelPrepared::release_if(bool complete, KernelRun& run) {
    if (complete) runs_.release(run);
    return complete;
}

}  // namespace lapwing::kernel
