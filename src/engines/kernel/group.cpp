#include "engines/kernel/group.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"

namespace lapwing::kernel {

KernelGroup::KernelGroup(Connections& connections, const Options& options, Link* intra_node)
    : scheduler_(connections, options, intra_node, [this] { event_thread_.request(); }),
      event_thread_(connections, scheduler_.ring().descriptor(), [this] { call_by_event_thread(); }) {}

void KernelGroup::want(const ChainPlan& plan) {
    const std::lock_guard lock(mutex_);
    scheduler_.want(plan);
}

bool KernelGroup::start(KernelRun& run, std::uint32_t channel, bool by_event_thread) {
    const std::lock_guard lock(mutex_);
    if (by_event_thread) by_event_thread = watch_sockets();
    scheduler_.start(run, channel, by_event_thread);
    scheduler_.intra_node().flush();
    if (!event_thread_.watches_ring() && scheduler_.needs_event_thread()) event_thread_.watch_ring();
    return run.alive() && run.host.intra_node.open;
}

bool KernelGroup::advance_intra_node(KernelRun& run) {
    const std::lock_guard lock(mutex_);
    if (scheduler_.advance_intra_node(run)) scheduler_.ring().wake();
    scheduler_.intra_node().flush();
    return !run.alive();
}

bool KernelGroup::test(KernelRun& run) {
    // The event thread may be inside a long reduction.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    scheduler_.test(run);
    scheduler_.intra_node().flush();
    return is_complete(run);
}

bool KernelGroup::progress(KernelRun& run) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    scheduler_.progress(run);
    scheduler_.intra_node().flush();
    return is_complete(run);
}

int KernelGroup::prepare_to_sleep(KernelRun& run) {
    const std::lock_guard lock(mutex_);
    scheduler_.prepare_to_sleep(run);
    scheduler_.intra_node().flush();
    if (!event_thread_.watches_ring() && scheduler_.needs_event_thread()) event_thread_.watch_ring();
    if (!run.alive()) return -1;
    const int ring = scheduler_.ring().descriptor();
    return scheduler_.awaits_intra_node() ? poll_set_.of(ring, scheduler_.intra_node().poll_descriptor())
                                          : ring;
}

std::optional<Prepared::Position> KernelGroup::position(const KernelRun& run) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;
    const ChainPlan& plan = *run.plan;
    const std::vector<HostStep>& host_steps = plan.host.steps();
    Prepared::Position position{run.host.next, host_steps.size(), {}};
    const auto count = [&position](const std::vector<PlannedChain>& chains) {
        for (const PlannedChain& chain : chains) position.tasks += chain.size();
    };
    count(plan.receives);
    for (const PlannedStage& stage : plan.stages) count(stage.chains);
    for (std::size_t i = 0; i < run.chains.size(); ++i) {
        const ChainProgress& chain = run.chains[i];
        position.task += chain.steps_done();
        if (chain.steps_done() >= chain.chain->size()) continue;
        const PlannedStep& next = (*chain.chain)[chain.steps_done()];
        if (next.kind == Step::Kind::receive) position.awaited.push_back(plan.peers[next.slot]);
    }
    if (run.host.next < host_steps.size()) {
        const HostStep& next = host_steps[run.host.next];
        if (next.kind == HostStep::Kind::intra_node && next.task.kind == lapwing::Kind::wait)
            position.awaited.push_back(next.task.peer);
    }
    std::ranges::sort(position.awaited);
    const auto repeated = std::unique(position.awaited.begin(), position.awaited.end());
    position.awaited.erase(repeated, position.awaited.end());
    return position;
}

bool KernelGroup::watch_sockets() {
    if (watches_sockets_) return true;
    try {
        event_thread_.watch_sockets(scheduler_.sockets().descriptor());
        watches_sockets_ = true;
    } catch (const Error&) {
        // No descriptor is left: the kernel and the program's calls advance the list.
    }
    return watches_sockets_;
}

bool KernelGroup::is_complete(const KernelRun& run) {
    if (run.state == KernelRun::State::failed) throw Error(ErrorCode::link, run.error);
    return run.state == KernelRun::State::complete;
}

void KernelGroup::call_by_event_thread() {
    const std::lock_guard lock(mutex_);
    if (scheduler_.run_on_event_thread()) scheduler_.ring().wake();
    scheduler_.intra_node().flush();
    if (event_thread_.watches_ring() && !scheduler_.needs_event_thread()) event_thread_.forget_ring();
}

}  // namespace lapwing::kernel
