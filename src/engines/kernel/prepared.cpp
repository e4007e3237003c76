#include "engines/kernel/prepared.hpp"

#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/trace.hpp"

namespace lapwing::kernel {

struct KernelPrepared::Run final : KernelRun, ProgressThread::Work {
    explicit Run(KernelGroup& in) : ProgressThread::Work(true), group(in) {}
    Outcome advance() override {
        return group.advance_intra_node(*this) ? Outcome::complete : Outcome::pending;
    }

    KernelGroup& group;
    bool shared = false;  // registered with the progress thread
};

std::shared_ptr<ObjectPool<KernelPrepared::Run>> KernelPrepared::make_runs() {
    return std::make_shared<ObjectPool<Run>>();
}

KernelPrepared::KernelPrepared(const Problem& problem, const List& list, const std::vector<bool>& intra_node,
                               const Chains& chains, std::shared_ptr<const Shared> shared)
    : shared_(std::move(shared)),
      plan_(chains, intra_node, shared_->options),
      progress_thread_(plan_.host.has_messages() ? shared_->progress_thread : nullptr),
      suits_event_thread_(plan_.is_short() && plan_.host.has_work && !plan_.host.needs_program &&
                          (!plan_.host.has_messages() || progress_thread_ != nullptr)) {
    if (suits_event_thread_ && shared_->options.event_thread_lists == ProgressLists::long_ones)
        problem_ = problem;
    // Requests the connections now, so that the first start may find them connected.
    shared_->group->want(plan_);
    if (trace::on()) trace_ = std::make_unique<TracePlan>(list, intra_node, plan_);
}

KernelPrepared::~KernelPrepared() {
    if (in_flight_ == 0) return;
    for (const auto& run : shared_->runs->objects()) {
        if (run->plan == &plan_) forget(*run);
    }
}

// Null if nothing is to be learned.
ThreadChoice* KernelPrepared::choice_of(const void* call_site) {
    if (!problem_) return nullptr;
    constexpr std::size_t max_sites = 8;  // later sites share the last choice
    for (const auto& [site, choice] : choices_) {
        if (site == call_site) return choice.get();
    }
    if (choices_.size() < max_sites) choices_.emplace_back(call_site, std::make_unique<ThreadChoice>());
    return choices_.back().second.get();
}

Operation* KernelPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    Run& run = shared_->runs->take([this] { return std::make_unique<Run>(*shared_->group); });
    run.take(plan_, trace_.get());
    run.wake_ups = 0;
    ++in_flight_;
    run.operands.memory.buffers = buffers;
    if (run.trace != nullptr) run.trace->start(buffers.operation);
    ThreadChoice* choice = choice_of(buffers.call_site);
    if (choice != nullptr && shared_->group->starts_many()) {
        choice->crowd();
        choice = nullptr;
    }
    run.measured.choice = choice;
    if (choice == nullptr) {
        start(run, channel, suits_event_thread_ && shared_->options.event_thread_lists == ProgressLists::all);
        return &run;
    }
    run.measured.waiting = 0;
    run.measured.by_thread = choice->next(nanoseconds());
    start(run, channel, run.measured.by_thread);
    run.measured.started = nanoseconds();
    return &run;
}

void KernelPrepared::start(Run& run, std::uint32_t channel, bool by_thread) {
    bool shares = by_thread && progress_thread_ != nullptr;
    try {
        if (shares) progress_thread_->ensure_started();
    } catch (const Error&) {
        // The program's calls advance the list.
        by_thread = shares = false;
    }
    const bool awaits_intra_node = shared_->group->start(run, channel, by_thread);
    if (!shares || !awaits_intra_node) return;
    // Not before: what has arrived by now must not wake the thread.
    progress_thread_->add(run);
    run.shared = true;
    progress_thread_->release(run);
}

bool KernelPrepared::test(Operation* operation) {
    return advance(operation, [this](KernelRun& run) { return shared_->group->test(run); });
}

bool KernelPrepared::progress(Operation* operation) {
    KernelRun& run = static_cast<KernelRun&>(*operation);
    if (run.measured.choice != nullptr && run.measured.waiting == 0) run.measured.waiting = nanoseconds();
    return advance(operation, [this](KernelRun& of) { return shared_->group->progress(of); });
}

int KernelPrepared::prepare_to_sleep(Operation* operation) {
    return shared_->group->prepare_to_sleep(static_cast<KernelRun&>(*operation));
}

std::uint32_t KernelPrepared::accept(std::uint32_t, int lane) {
    shared_->persistent_lanes->accept(lane);
    return first_persistent_channel + static_cast<std::uint32_t>(lane);
}

void KernelPrepared::release_channel(std::uint32_t channel) {
    const std::uint32_t lane = channel - first_persistent_channel;
    if (lane < PersistentLanes::count)
        shared_->persistent_lanes->release(static_cast<int>(lane));
    else
        shared_->persistent_lanes->decline();  // it was only offered
}

template <typename Advance>
bool KernelPrepared::advance(Operation* operation, Advance advance) {
    Run& run = static_cast<Run&>(*operation);
    try {
        if (!advance(run)) return false;
    } catch (...) {
        forget(run);
        throw;
    }
    forget(run);
    if (run.measured.choice != nullptr) measured(run);
    --in_flight_;
    shared_->runs->release(run);
    return true;
}

// The progress thread must not use the run any more.
void KernelPrepared::forget(Run& run) {
    if (!run.shared) return;
    while (!progress_thread_->try_acquire(run)) std::this_thread::yield();
    progress_thread_->remove(run);
    run.wake_ups = run.times_woken();
    run.shared = false;
}

// Of a run that is complete.
void KernelPrepared::measured(const KernelRun& run) {
    const auto& [choice, by_thread, started, waiting] = run.measured;
    choice->completed((waiting != 0 ? waiting : nanoseconds()) - started);
    shared_->records->add(*problem_, by_thread, choice->periods());
}

}  // namespace lapwing::kernel
