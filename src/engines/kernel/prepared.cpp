#include "engines/kernel/prepared.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/trace.hpp"

namespace lapwing::kernel {

namespace {

bool suits_event_thread(const ChainPlan& plan) {
    return plan.is_short() && plan.host.has_work() && !plan.host.needs_program() &&
           plan.host.intra_node().empty();
}

}  // namespace

KernelPrepared::KernelPrepared(const Problem& problem, const List& list, const std::vector<bool>& intra_node,
                               const Chains& chains, const Shared& shared)
    : problem_(problem),
      plan_(chains, intra_node, shared.options),
      suits_event_thread_(suits_event_thread(plan_)),
      shared_(shared) {
    // Requests the connections now, so that the first start may find them connected.
    shared_.group->want(plan_);
    if (trace::on()) trace_ = std::make_unique<TracePlan>(list, intra_node, chains, plan_);
}

KernelPrepared::~KernelPrepared() = default;

// Null if nothing is to be learned.
ThreadChoice* KernelPrepared::choice_of(const void* call_site) {
    if (!suits_event_thread_ || shared_.options.event_thread_lists != ProgressLists::long_ones)
        return nullptr;
    constexpr std::size_t max_sites = 8;  // later sites share the last choice
    for (const auto& [site, choice] : choices_) {
        if (site == call_site) return choice.get();
    }
    if (choices_.size() < max_sites) choices_.emplace_back(call_site, std::make_unique<ThreadChoice>());
    return choices_.back().second.get();
}

Operation* KernelPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    KernelRun& run = runs_.take([this] { return std::make_unique<KernelRun>(plan_, trace_.get()); });
    run.operands.memory.buffers = buffers;
    if (run.trace != nullptr) run.trace->start(buffers.operation);
    ThreadChoice* const choice = run.measured.choice = choice_of(buffers.call_site);
    if (choice == nullptr) {
        shared_.group->start(run, channel,
                             suits_event_thread_ && shared_.options.event_thread_lists == ProgressLists::all);
        return &run;
    }
    run.measured.waiting = 0;
    run.measured.by_thread = choice->next(nanoseconds());
    shared_.group->start(run, channel, run.measured.by_thread);
    run.measured.started = nanoseconds();
    return &run;
}

bool KernelPrepared::test(Operation* operation) {
    KernelRun& run = static_cast<KernelRun&>(*operation);
    return release_if(shared_.group->test(run), run);
}

bool KernelPrepared::progress(Operation* operation) {
    KernelRun& run = static_cast<KernelRun&>(*operation);
    if (run.measured.choice != nullptr && run.measured.waiting == 0) run.measured.waiting = nanoseconds();
    return release_if(shared_.group->progress(run), run);
}

int KernelPrepared::prepare_to_sleep(Operation* operation) {
    return shared_.group->prepare_to_sleep(static_cast<KernelRun&>(*operation));
}

std::uint32_t KernelPrepared::accept(std::uint32_t, int lane) {
    shared_.persistent_lanes->accept(lane);
    return first_persistent_channel + static_cast<std::uint32_t>(lane);
}

void KernelPrepared::release_channel(std::uint32_t channel) {
    const std::uint32_t lane = channel - first_persistent_channel;
    if (lane < PersistentLanes::count)
        shared_.persistent_lanes->release(static_cast<int>(lane));
    else
        shared_.persistent_lanes->decline();  // it was only offered
}

bool KernelPrepared::release_if(bool complete, KernelRun& run) {
    if (!complete) return false;
    if (run.measured.choice != nullptr) measured(run);
    runs_.release(run);
    return true;
}

// Of a run that is complete.
void KernelPrepared::measured(const KernelRun& run) {
    const auto& [choice, by_thread, started, waiting] = run.measured;
    choice->completed((waiting != 0 ? waiting : nanoseconds()) - started);
    shared_.records->add(problem_, by_thread, choice->periods());
}

}  // namespace lapwing::kernel
