#include "engines/kernel/prepared.hpp"

#include <utility>

#include "base/trace.hpp"

namespace lapwing::kernel {

KernelPrepared::KernelPrepared(const List& list, const std::vector<bool>& intra_node, const Chains& chains,
                               std::uint64_t socket_bytes, std::shared_ptr<KernelGroup> group,
                               std::shared_ptr<PersistentLanes> persistent_lanes)
    : plan_(chains, intra_node, socket_bytes),
      group_(std::move(group)),
      persistent_lanes_(std::move(persistent_lanes)) {
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
    if (run->trace != nullptr) run->trace->start();
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

std::uint32_t KernelPrepared::accept(std::uint32_t, int lane) {
    persistent_lanes_->accept(lane);
    return first_kept_channel + static_cast<std::uint32_t>(lane);
}

void KernelPrepared::release(std::uint32_t channel) {
    const std::uint32_t lane = channel - first_kept_channel;
    if (lane < PersistentLanes::count)
        persistent_lanes_->release(static_cast<int>(lane));
    else
        persistent_lanes_->decline();  // it was only offered
}

bool KernelPrepared::finish(Run& run, bool complete) {
    if (complete) idle_.push_back(&run);
    return complete;
}

}  // namespace lapwing::kernel
