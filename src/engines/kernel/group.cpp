#include "engines/kernel/group.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::kernel {

KernelGroup::KernelGroup(Connections& connections, const Options& options, Link* intra_node)
    : connections_(connections),
      options_(options),
      intra_node_(intra_node),
      lanes_(static_cast<std::size_t>(std::max(1, connections.lanes() - options.persistent_lanes))),
      submission_(ring_),
      completions_(ring_, runs_, changed_),
      event_thread_(connections, ring_.descriptor(), [this] { call_by_event_thread(); }) {}

bool KernelGroup::is_unused_and_whole() {
    const std::lock_guard lock(mutex_);
    return runs_.size() == 0 && !failed_;
}

void KernelGroup::use_intra_node(Link* link) {
    const std::lock_guard lock(mutex_);
    intra_node_ = link;
}

bool KernelGroup::starts_many() {
    const std::lock_guard lock(mutex_);
    return bursts_.size() >= lanes_.shared();
}

void KernelGroup::want(const ChainPlan& plan) {
    const std::lock_guard lock(mutex_);
    for (std::size_t lane = 0; lane < lanes_.shared(); ++lane) {
        for (const int peer : plan.peers) connections_.want(peer, static_cast<int>(lane));
    }
}

bool KernelGroup::start(KernelRun& run, std::uint32_t channel, bool by_event_thread) {
    const std::lock_guard lock(mutex_);
    caller_ = Caller::program;
    run.restart(by_event_thread && event_thread_.may_watch_sockets());
    run.channel = channel;
    run.lane = lanes_.lane_of(channel);
    // Lanes of persistent channels are connected at their first use.
    if (run.lane >= lanes_.shared()) {
        for (const int peer : run.plan->peers) connections_.want(peer, static_cast<int>(run.lane));
    }
    runs_.add(run);
    lanes_.add(run);
    bursts_.started();
    if (hold_back(run)) return false;
    // The messages of the run before it may no longer wait in the sockets.
    if (!lanes_.has_lane(run)) changed_.push_back(&lanes_.holder(run));
    // Host steps that the first sends depend on come before the launch, the others after it.
    if (run.plan->stages.front().host_steps > 0) advance(run);
    process_for_program(run);
    watch_ring_if_needed();
    return run.alive() && run.host.open;
}

bool KernelGroup::test(KernelRun& run) {
    // The event thread may be inside a long reduction.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    caller_ = Caller::program;
    bursts_.ended();
    if (run.driver == Driver::caller) run.driver = run.driver_outside_calls();
    completions_.poll();
    process_for_program(run);
    return is_complete(run);
}

bool KernelGroup::progress(KernelRun& run) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    caller_ = Caller::program;
    bursts_.ended();
    completions_.poll();
    // A caller that waits for a short list, or for messages that stayed in the sockets, does the steps
    // itself. That saves an interrupt for each message.
    if (run.state == KernelRun::State::running && (run.plan->is_short() || may_stay_in_sockets(run)))
        hand_to_caller(run);
    process_for_program(run);
    return is_complete(run);
}

int KernelGroup::prepare_to_sleep(KernelRun& run) {
    const std::lock_guard lock(mutex_);
    caller_ = Caller::program;
    // Completions stay in the ring, to wake the caller. Peers may wait for the runs that have the lanes.
    end_holding_back();
    run.driver = Driver::kernel;
    lanes_.for_each_holder([this](KernelRun& holder) {
        if (!may_stay_in_sockets(holder)) return;
        holder.driver = Driver::kernel;
        changed_.push_back(&holder);
    });
    process_for_program(run);
    watch_ring_if_needed();
    if (run.state == KernelRun::State::failing) return ring_.descriptor();
    if (!run.alive()) return -1;
    // Messages of intra-node peers make no descriptor readable.
    const bool awaits_intra_node =
        std::ranges::any_of(awaiting_program_, [](const KernelRun* any) { return any->host.open; });
    return awaits_intra_node ? -1 : ring_.descriptor();
}

bool KernelGroup::advance_intra_node(KernelRun& run) {
    const std::lock_guard lock(mutex_);
    caller_ = Caller::event_thread;
    if (run.alive() && run.driver != Driver::caller) advance(run);
    process_changed();
    if (intra_node_ != nullptr) intra_node_->flush();
    return !run.alive();
}

void KernelGroup::call_by_event_thread() {
    const std::lock_guard lock(mutex_);
    caller_ = Caller::event_thread;
    const std::uint64_t handled = completions_.handled();
    const std::size_t awaiting = awaiting_program_.size();
    completions_.poll();
    end_holding_back();
    event_thread_.collect_ready_sockets();
    lanes_.for_each_holder([this](KernelRun& run) {
        if (run.driver != Driver::caller) changed_.push_back(&run);
    });
    process_changed();
    // For threads that sleep on the ring.
    if (awaiting_program_.size() != awaiting ||
        (completions_.handled() != handled && !awaiting_program_.empty()))
        ring_.wake();
    if (event_thread_.watches_ring() && !needs_event_thread()) event_thread_.forget_ring();
}

// Whether the event thread must begin the next run on a lane or do local work.
bool KernelGroup::needs_event_thread() const {
    bool any_run_waits = false;
    lanes_.for_each_holder([&](const KernelRun& run) {
        any_run_waits = any_run_waits || (run.chains.any_in_kernel() && lanes_.holds_up(run));
    });
    return any_run_waits || std::ranges::any_of(runs_.by_id(), [this](const KernelRun* run) {
               return run != nullptr && run->state == KernelRun::State::running &&
                      (!run->any_thread || run->driver == Driver::kernel) && event_thread_may_help(*run);
           });
}

void KernelGroup::watch_ring_if_needed() {
    if (!event_thread_.watches_ring() && needs_event_thread()) event_thread_.watch_ring();
}

// Whether the event thread has work for the run, now or when chains complete.
bool KernelGroup::event_thread_may_help(const KernelRun& run) const {
    return event_thread_may_work(run) && run.host_steps_left() && run.plan->host.has_work;
}

bool KernelGroup::event_thread_may_work(const KernelRun& run) const {
    return options_.event_thread_lists != ProgressLists::none && !run.plan->host.needs_program &&
           (options_.event_thread_lists == ProgressLists::all || run.any_thread ||
            !run.plan->may_wait_in_sockets());
}

// A program that starts many short lists waits for all of them soon. Their first messages then cost one
// system call for each lane and peer instead of one for each list. If the program does not call soon, the
// event thread sends them.
bool KernelGroup::hold_back(KernelRun& run) {
    constexpr std::size_t max_of_a_lane = 32;
    constexpr std::chrono::microseconds longest(30);
    if (!bursts_.amid_many() || !run.plan->may_share_lane() || run.plan->peers.empty() ||
        run.lane >= lanes_.shared() || run.any_thread || run.plan->host.has_messages() ||
        run.plan->stages.front().host_steps > 0 || held_back_.size() >= max_of_a_lane * lanes_.shared())
        return false;
    if (held_back_.empty() && !event_thread_.request_after(longest)) return false;
    run.state = KernelRun::State::held_back;
    held_back_.push_back(&run);
    return true;
}

// The first one comes last: then it sends the messages of all.
void KernelGroup::end_holding_back() {
    if (held_back_.empty()) return;
    if (caller_ == Caller::program) event_thread_.drop_request();
    const std::vector<KernelRun*> held_back = std::exchange(held_back_, {});
    for (auto at = held_back.rbegin(); at != held_back.rend(); ++at) {
        KernelRun& run = **at;
        run.state = KernelRun::State::queued;
        launch(run);
        if (run.alive()) changed_.push_back(&run);
    }
}

// Advances the run, and one of those that wait for a thread of the program: a caller that has many runs in
// flight calls for each of them.
void KernelGroup::process_for_program(KernelRun& run) {
    end_holding_back();
    if (!awaiting_program_.empty()) {
        KernelRun* const awaiting = awaiting_program_.front();
        awaiting_program_.erase(awaiting_program_.begin());
        awaiting->awaits_program = false;
        if (awaiting != &run) changed_.push_back(awaiting);
    }
    run.called = ++calls_;
    // Runs that have a lane may stay in the sockets, although no call is made for them.
    if (runs_.size() > 1) {
        lanes_.for_each_holder([this](KernelRun& holder) {
            if (calls_ - holder.called <= runs_.size()) return;
            holder.called = calls_;
            changed_.push_back(&holder);
        });
    }
    std::erase(changed_, &run);  // once, although completions may have added it
    changed_.push_back(&run);
    process_changed();
}

// Advances the runs that have changed, and those that get a lane thereby.
void KernelGroup::process_changed() {
    // The event thread uses the link for these runs only: without them no other thread is expected there.
    bool may_have_sent = caller_ == Caller::program;
    while (!changed_.empty()) {
        KernelRun& run = *changed_.back();
        changed_.pop_back();
        may_have_sent = may_have_sent || run.any_thread;
        if (run.state == KernelRun::State::failing) {
            end_failed(run);
            continue;
        }
        if (run.state == KernelRun::State::held_back) continue;
        if (run.state == KernelRun::State::queued) {
            launch(run);
        } else if (advances_inline(run) && advance_inline_or_fail(run)) {
            continue;
        }
        if (run.state == KernelRun::State::running) lanes_.end_turns(run, changed_);
        if (run.state == KernelRun::State::running && run.broken_step != nullptr) fail_broken(run);
        submit_if_needed(run);
        advance(run);
    }
    // Wakes intra-node peers that sleep until something is sent.
    if (intra_node_ != nullptr && may_have_sent) intra_node_->flush();
}

// If the run has its lane, or shares it, and all its connections are made.
void KernelGroup::launch(KernelRun& run) {
    if (!lanes_.has_lane(run) && !run.plan->may_share_lane()) return;
    StepOperands& operands = run.operands;
    try {
        operands.sockets.clear();
        bool all = true;
        for (const int peer : run.plan->peers) {
            operands.sockets.push_back(connections_.descriptor(peer, static_cast<int>(run.lane)));
            all = all && operands.sockets.back() >= 0;
        }
        if (!all) return;
        while (operands.gates.size() < static_cast<std::size_t>(run.plan->gates))
            operands.gates.push_back(gates_.acquire());
    } catch (const Error& error) {
        fail(run, error.what());
        return;
    }
    run.state = KernelRun::State::running;
    run.chains.begin_receives(*run.plan);
    if (run.may_begin_stage()) begin_stage(run);
}

void KernelGroup::begin_stage(KernelRun& run) {
    run.chains.begin_stage(*run.plan);
    if (run.plan->may_wait_in_sockets()) advance_inline_or_fail(run);
    // Before the local work, if that may follow.
    submit_if_needed(run);
}

// Until a thread calls, the run only receives: either no other rank waits for what this rank does with the
// messages, or the list is short and a thread must work before the next send. Then the messages may wait in
// the sockets. Submitting the chains, with an interrupt for each message, would cost more than the copies
// that it hides. Of many short lists, the program's calls do the later steps for all at once.
bool KernelGroup::may_stay_in_sockets(const KernelRun& run) const {
    if (run.state != KernelRun::State::running || run.driver == Driver::kernel ||
        run.chains.any_in_kernel() || lanes_.holds_up(run))
        return false;
    if (run.plan->may_share_lane() && lanes_.has_waiter(run)) return true;
    return run.plan->may_wait_in_sockets() && !run.plan->host.has_messages() && !event_thread_may_help(run) &&
           run.chains.only_receives_left(*run.plan);
}

// Whether the thread that is inside does the steps of the chains.
bool KernelGroup::advances_inline(const KernelRun& run) const {
    if (run.state != KernelRun::State::running) return false;
    if (run.driver == Driver::event_thread) return true;
    return caller_ == Caller::program &&
           (run.driver == Driver::caller || !lanes_.has_lane(run) || may_stay_in_sockets(run));
}

// Submits chains that are not in the kernel, unless another run has the lane, a thread does the steps, or the
// chains may stay outside.
void KernelGroup::submit_if_needed(KernelRun& run) {
    if (run.state != KernelRun::State::running || run.driver == Driver::caller ||
        run.driver == Driver::event_thread || !lanes_.has_lane(run) || run.chains.all_in_kernel() ||
        may_stay_in_sockets(run))
        return;
    if (options_.event_thread_submits && caller_ == Caller::program) return event_thread_.request();
    try {
        submission_.submit(run);
    } catch (const Error& error) {
        fail(run, error.what());
    }
}

// Of a run that the event thread advances: the descriptors that its chains wait for.
void KernelGroup::watch_sockets(KernelRun& run) {
    if (run.driver != Driver::event_thread || run.state != KernelRun::State::running) return;
    try {
        for (std::size_t i = 0; i < run.chains.size(); ++i) {
            const ChainProgress& chain = run.chains[i];
            if (chain.in_kernel || chain.done() || !run.has_turn(chain.next())) continue;
            event_thread_.watch_socket(run.operands.descriptor(chain.next()), chain.next().sends());
        }
    } catch (const Error&) {
        run.driver = Driver::kernel;
        submit_if_needed(run);
    }
}

// A chain of a thread that does not run at the moment stays in the kernel for now. The caller advances the
// others.
void KernelGroup::hand_to_caller(KernelRun& run) {
    run.driver = Driver::caller;
    const bool alone = runs_.size() == 1;
    // Repeats, because a step may complete and the next begin while the chain is being cancelled.
    for (int tries = 0; run.chains.any_in_kernel() && tries < 10; ++tries) {
        if (alone) {
            ring_.cancel_all();
        } else {
            submission_.cancel(run);
        }
        completions_.poll();
    }
}

// Does host steps and begins stages, until the run must wait.
void KernelGroup::advance(KernelRun& run) {
    if (!run.alive()) return;
    bool awaits_program = false;
    for (bool moved = true; moved;) {
        if (run.trace != nullptr) run.trace->record_completed(run.chains);
        const std::size_t before = run.host.next;
        awaits_program = advance_host_steps_or_fail(run);
        moved = run.host.next != before;
        if (run.chains.stage_is_complete()) {
            run.chains.end_stage();
            moved = true;
        }
        if (run.may_begin_stage()) {
            begin_stage(run);
            moved = true;
        }
    }
    if (!run.alive()) return;
    if (run.everything_is_done()) return complete(run);
    watch_sockets(run);
    if ((!awaits_program && !run.host.open) || run.awaits_program) return;
    run.awaits_program = true;
    awaiting_program_.push_back(&run);
}

bool KernelGroup::advance_host_steps_or_fail(KernelRun& run) {
    if (!run.alive()) return false;
    const bool program = caller_ == Caller::program;
    try {
        return advance_host_steps(run, program || run.any_thread ? intra_node_ : nullptr,
                                  program || event_thread_may_work(run));
    } catch (const Error& error) {
        fail(run, error.what());
        return false;
    }
}

// Returns whether other runs have moved as well. The run then comes again after them, so that its next
// messages and theirs leave together.
bool KernelGroup::advance_inline_or_fail(KernelRun& run) {
    moved_.clear();
    const bool succeeded = advance_inline(run, moved_);
    const bool others = !moved_.empty();
    if (others) changed_.push_back(&run);
    changed_.insert(changed_.end(), moved_.begin(), moved_.end());
    if (succeeded) {
        lanes_.end_turns(run, changed_);
    } else {
        fail_broken(run);
    }
    return others;
}

void KernelGroup::complete(KernelRun& run) {
    for (Gate& gate : run.operands.gates) gates_.release(std::move(gate));
    run.operands.gates.clear();
    run.state = KernelRun::State::complete;
    remove(run);
}

void KernelGroup::fail_broken(KernelRun& run) {
    const PlannedStep& step = *run.broken_step;
    fail(run, !step.has_peer()
                  ? fmt::format("a socket pair of the kernel engine failed: {}", std::strerror(run.broken_by))
                  : why_broken(connections_, run.plan->peers[step.slot],
                               tcp::reason_of_end(run.operands.descriptor(step), run.broken_by)));
}

void KernelGroup::fail(KernelRun& run, const std::string& why) {
    failed_ = true;
    run.error = why;
    run.state = KernelRun::State::failing;
    // The peers notice the failure, and all operations in the kernel complete: none can wait any more.
    for (const int socket : run.operands.sockets) ::shutdown(socket, SHUT_RDWR);
    for (const Gate& gate : run.operands.gates) ::shutdown(gate.exit.get(), SHUT_RDWR);
    end_failed(run);
}

// The program must not have its buffers back while the kernel may still write there: each completion calls
// this again.
void KernelGroup::end_failed(KernelRun& run) {
    if (run.chains.any_in_kernel()) return;
    run.state = KernelRun::State::failed;
    for (const int socket : run.operands.sockets) event_thread_.forget_socket(socket);
    for (const Gate& gate : run.operands.gates) {
        event_thread_.forget_socket(gate.exit.get());
        event_thread_.forget_socket(gate.entrance.get());
    }
    run.operands.gates.clear();
    remove(run);
}

// The lane goes to the next run in its queue, and the run's turns to those behind it.
void KernelGroup::remove(KernelRun& run) {
    if (run.driver == Driver::kernel && caller_ == Caller::event_thread) ring_.wake();
    runs_.remove(run);
    std::erase(changed_, &run);
    std::erase(awaiting_program_, &run);
    lanes_.remove(run, changed_);
}

bool KernelGroup::is_complete(const KernelRun& run) {
    if (run.state == KernelRun::State::failed) throw Error(ErrorCode::link, run.error);
    return run.state == KernelRun::State::complete;
}

std::optional<Prepared::Position> KernelGroup::position(const KernelRun& run) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;
    const ChainPlan& plan = *run.plan;
    const std::vector<HostStep>& host_steps = plan.host.steps;
    Prepared::Position position{run.host.next, host_steps.size(), {}};
    for (const PlannedChain& chain : plan.chains) position.tasks += chain.size();
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

}  // namespace lapwing::kernel
