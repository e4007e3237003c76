#include "engines/kernel/prepared.hpp"

#include "base/trace.hpp"

namespace lapwing::kernel {

KernelPrepared::KernelPrepared(const List& list, const Ground& ground, Inside inside)
    : KernelPrepared(list, inside == Inside::by_memory ? ground.near_peers : std::vector<bool>(), ground) {}

KernelPrepared::KernelPrepared(const List& list, const std::vector<bool>& near, const Ground& ground)
    : KernelPrepared(list, near, lower_to_chains(list, {}, near), ground) {}

KernelPrepared::KernelPrepared(const List& list, const std::vector<bool>& near, const Chains& chains,
                               const Ground& ground)
    : plan_(chains, near), reactor_(Reactor::of(ground)) {
    // Connections are asked for now, so that the first start may find them made.
    reactor_->want(plan_);
    if (trace::on()) trace_ = std::make_unique<TracePlan>(list, near, chains, plan_);
}

KernelPrepared::~KernelPrepared() = default;

Operation* KernelPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        auto run = std::make_unique<Run>();
        run->plan = &plan_;
        run->signals.resize(plan_.most_signals);
        run->messages.make(plan_.messages);
        run->memory.make_scratch(plan_.scratch_bytes);
        if (trace_ != nullptr) run->trace = std::make_unique<RunTrace>(*trace_);
        idle_.push_back(run.get());
        runs_.push_back(std::move(run));
    }
    Run* run = idle_.back();
    idle_.pop_back();
    run->memory.buffers = buffers;
    if (run->trace != nullptr) run->trace->start();
    reactor_->start(*run, channel);
    return run;
}

bool KernelPrepared::test(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    return finish(run, reactor_->test(run));
}

bool KernelPrepared::press(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    return finish(run, reactor_->press(run));
}

int KernelPrepared::rest(Operation* operation) {
    return reactor_->rest(static_cast<Run&>(*operation));
}

bool KernelPrepared::finish(Run& run, bool complete) {
    if (complete) idle_.push_back(&run);
    return complete;
}

}  // namespace lapwing::kernel
