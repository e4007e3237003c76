#include "engines/kernel/reactor.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.hpp"

namespace lapwing::kernel {
namespace {

constexpr std::uint64_t nobody = UINT64_MAX;  // of a completion that only wakes

// Which step of which line of which run a completion belongs to.
std::uint64_t tag(std::uint32_t run, std::size_t line, std::size_t step) {
    return std::uint64_t{run} << 40 | static_cast<std::uint64_t>(line) << 16 |
           static_cast<std::uint64_t>(step);
}
constexpr std::size_t most_lines = 1U << 24;

EngineContext without_state(const EngineContext& context) {
    EngineContext copy = context;
    copy.kernel_state = nullptr;
    return copy;
}

}  // namespace

std::shared_ptr<Reactor> Reactor::of(const EngineContext& context) {
    if (context.kernel_state == nullptr) context.kernel_state = std::make_shared<Reactor>(context);
    return std::static_pointer_cast<Reactor>(context.kernel_state);
}

Reactor::Reactor(const EngineContext& context)
    : connections_(*context.connections),
      context_(without_state(context)),
      shared_lanes_(static_cast<std::size_t>(std::max(1, context.connections->lanes() - context.kept_lanes))),
      lanes_(shared_lanes_) {
    door_->reactor = this;
    connections_.on_change([door = door_] { door->attend(); });
}

Reactor::~Reactor() {
    {
        const std::lock_guard lock(door_->mutex);
        door_->reactor = nullptr;
    }
    connections_.on_change({});
    connections_.event_loop().forget(ring_.descriptor());
}

void Reactor::want(const ChainPlan& plan) {
    const std::lock_guard lock(mutex_);
    for (std::size_t lane = 0; lane < shared_lanes_; ++lane) {
        for (const int peer : plan.peers) connections_.want(peer, static_cast<int>(lane));
    }
}

// Kept lanes are made when they are first used.
std::size_t Reactor::lane_of(std::uint32_t channel) {
    if (channel < first_kept_channel) return channel % shared_lanes_;
    const std::size_t lane = shared_lanes_ + (channel - first_kept_channel);
    if (lane >= lanes_.size()) lanes_.resize(lane + 1);
    return lane;
}

void Reactor::start(Run& run, std::uint32_t channel) {
    const std::lock_guard lock(mutex_);
    run.state = Run::State::queued;
    run.error.clear();
    run.lane = lane_of(channel);
    if (run.lane >= shared_lanes_) {
        for (const int peer : run.plan->peers) connections_.want(peer, static_cast<int>(run.lane));
    }
    run.channel = channel;
    run.stage = run.host_step = 0;
    run.in_stage = false;
    run.messages.restart();
    run.lines.clear();
    run.stage_open = run.receives_open = run.lines_in_kernel = 0;
    run.notifications = 0;
    run.moved_inline = run.needs_thread = false;
    run.intra_node_sends = 0;
    run.intra_node_open = run.plan->has_intra_node;
    add(run);
    // What the first sends must wait for is done before; the rest while they are on their way.
    if (run.plan->stages.front().host_steps > 0) advance(run, true);
    launch(run);
    advance(run, true);
    resume_needing_thread();
    settle(true);
    tell_intra_node();
    ask_event_thread();
}

void Reactor::tell_intra_node() {
    if (context_.intra_node != nullptr) context_.intra_node->flush();
}

bool Reactor::test(Run& run) {
    // The event thread may be at some long reduction.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    run.moved_inline = false;
    reap();
    touched_.push_back(&run);
    resume_needing_thread();
    settle(true);
    tell_intra_node();
    return result(run);
}

bool Reactor::progress(Run& run) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    reap();
    resume_needing_thread();
    settle(true);
    if (run.state == Run::State::queued) launch(run);
    if (run.state == Run::State::running) {
        if (run.plan->wire_bytes <= most_bytes_inline) {
            run.moved_inline = true;
            take_back(run);
            if (run.state == Run::State::running) move_lines_inline(run);
        } else {
            hand_over(run);
        }
    }
    advance(run, true);
    settle(true);
    tell_intra_node();
    return result(run);
}

int Reactor::prepare_to_sleep(Run& run) {
    const std::lock_guard lock(mutex_);
    run.moved_inline = false;
    touched_.push_back(&run);
    resume_needing_thread();
    settle(true);
    tell_intra_node();
    ask_event_thread();
    if (!run.alive()) return -1;
    const bool intra_node = std::any_of(needing_thread_.begin(), needing_thread_.end(),
                                        [](const Run* other) { return other->intra_node_open; });
    return intra_node ? poll_set_.of(ring_.descriptor(), context_.intra_node->poll_descriptor())
                      : ring_.descriptor();
}

bool Reactor::result(Run& run) {
    if (run.state == Run::State::failed) throw Error(ErrorCode::link, run.error);
    return run.state == Run::State::complete;
}

void Reactor::add(Run& run) {
    if (free_ids_.empty()) {
        run.id = static_cast<std::uint32_t>(runs_.size());
        runs_.push_back(&run);
    } else {
        run.id = free_ids_.back();
        free_ids_.pop_back();
        runs_[run.id] = &run;
    }
    // Who exchanges nothing waits for nobody.
    if (!run.plan->peers.empty()) lanes_[run.lane].push_back(&run);
}

// Its lane goes to the next.
void Reactor::remove(Run& run) {
    runs_[run.id] = nullptr;
    free_ids_.push_back(run.id);
    std::erase(touched_, &run);
    std::erase(needing_thread_, &run);
    std::deque<Run*>& lane = lanes_[run.lane];
    const auto place = std::find(lane.begin(), lane.end(), &run);
    if (place == lane.end()) return;
    const bool first = place == lane.begin();
    lane.erase(place);
    if (first && !lane.empty()) touched_.push_back(lane.front());
}

// When its lane and all its connections are there.
void Reactor::launch(Run& run) {
    if (run.state != Run::State::queued) return;
    if (!run.plan->peers.empty() && lanes_[run.lane].front() != &run) return;
    try {
        run.sockets.clear();
        bool all = true;
        for (const int peer : run.plan->peers) {
            run.sockets.push_back(connections_.descriptor(peer, static_cast<int>(run.lane)));
            all = all && run.sockets.back() >= 0;
        }
        if (!all) return;
        while (run.gates.size() < static_cast<std::size_t>(run.plan->gates))
            run.gates.push_back(gates_.take());
    } catch (const Error& error) {
        run.sockets.clear();
        fail(run, error.what());
        return;
    }
    run.state = Run::State::running;
    add_lines(run, run.plan->receives);
    run.receives_open = run.lines.size();
    // Before the local work, where that may follow.
    if (may_enter_stage(run)) {
        enter_stage(run);
    } else {
        hand_over(run);
    }
}

void Reactor::enter_stage(Run& run) {
    const std::size_t before = run.lines.size();
    add_lines(run, run.plan->stages[run.stage].chains);
    run.stage_open = run.lines.size() - before;
    run.in_stage = true;
    if (run.plan->wire_bytes <= most_bytes_inline) move_lines_inline(run);
    hand_over(run);
}

void Reactor::add_lines(Run& run, const std::vector<PlannedChain>& chains) {
    if (run.lines.size() + chains.size() > most_lines) {
        throw Error(ErrorCode::unsupported, "a list has too many chains");
    }
    for (const PlannedChain& chain : chains) run.lines.push_back({&chain, 0, 0, false});
}

// Lines that are not in the kernel go there, unless a caller is about to move them himself.
void Reactor::hand_over(Run& run) {
    if (run.moved_inline || run.state != Run::State::running) return;
    if (run.lines_in_kernel == run.stage_open + run.receives_open) return;
    if (!context_.event_thread_submits) {
        submit(run);
        return;
    }
    connections_.event_loop().post([door = door_] { door->attend(); });
}

void Reactor::submit(Run& run) {
    try {
        for (std::size_t i = 0; i < run.lines.size(); ++i) {
            if (!run.lines[i].in_kernel && !run.lines[i].done()) submit_line(run, i);
        }
        ring_.submit();
    } catch (const Error& error) {
        fail(run, error.what());
    }
}

void Reactor::submit_line(Run& run, std::size_t index) {
    Line& line = run.lines[index];
    const PlannedChain& chain = *line.chain;
    ring_.reserve(chain.size() - line.step);
    for (std::size_t i = line.step; i < chain.size(); ++i) {
        const PlannedStep& step = chain[i];
        const bool last = i + 1 == chain.size();
        const std::uint64_t offset = i == line.step ? line.offset : 0;
        const std::uint64_t bytes = step.bytes - offset;
        const int descriptor = run.descriptor(step);
        io_uring_sqe* operation = ring_.next();
        bool tells = last || step.tells;
        switch (step.kind) {
            case Step::Kind::send:
                if (without_copy(step, bytes)) {
                    io_uring_prep_send_zc(operation, descriptor, run.sent(step) + offset, bytes,
                                          MSG_WAITALL | MSG_NOSIGNAL, 0);
                    tells = true;  // it always does, twice: when it is sent, and when the bytes are free
                    break;
                }
                [[fallthrough]];
            case Step::Kind::signal:
                io_uring_prep_send(operation, descriptor, run.sent(step) + offset, bytes,
                                   MSG_WAITALL | MSG_NOSIGNAL);
                break;
            case Step::Kind::receive:
            case Step::Kind::await:
                io_uring_prep_recv(operation, descriptor, run.received(step) + offset, bytes, MSG_WAITALL);
                break;
        }
        // Plain links: a hard link would go on past an error.
        if (!last) operation->flags |= IOSQE_IO_LINK;
        if (!tells) operation->flags |= IOSQE_CQE_SKIP_SUCCESS;
        operation->user_data = tag(run.id, index, i);
    }
    line.in_kernel = true;
    ++run.lines_in_kernel;
    if (run.trace != nullptr) run.trace->handed_over(index);
}

bool Reactor::without_copy(const PlannedStep& step, std::uint64_t bytes) const {
    return step.kind == Step::Kind::send && bytes >= context_.zero_copy_bytes && ring_.sends_without_copy();
}

void Reactor::reap() {
    ring_.reap([this](const io_uring_cqe& completion) { handle(completion); });
}

void Reactor::handle(const io_uring_cqe& completion) {
    if (completion.user_data == nobody) return;
    Run* const run = runs_[completion.user_data >> 40];
    if (run == nullptr) return;
    if (completion.flags & IORING_CQE_F_NOTIF) {
        --run->notifications;
        touched_.push_back(run);
        return;
    }
    if (completion.flags & IORING_CQE_F_MORE) ++run->notifications;
    const std::size_t index = completion.user_data >> 16 & (most_lines - 1);
    Line& line = run->lines[index];
    if (!line.in_kernel) return;
    if (line.owed > 0) {
        if (--line.owed == 0) come_back(*run, line);
        return;
    }
    const std::uint32_t at = completion.user_data & 0xffff;
    const PlannedStep& step = (*line.chain)[at];
    const std::uint64_t offset = at == line.step ? line.offset : 0;
    const bool whole =
        completion.res >= 0 && offset + static_cast<std::uint64_t>(completion.res) == step.bytes;
    const bool last = at + 1 == line.chain->size();
    ++told_;
    if (whole && !last) {  // of a step that the processor waits for, or of a send without a copy
        line.told = std::max(line.told, at + 1);
        touched_.push_back(run);
        return;
    }
    // The chain has come to its end, or has stopped at this step: cancelled (by a caller who takes it back,
    // or because the thread that submitted it has ended), or broken.
    line.step = at;
    line.offset = offset;
    // A step that tells its success, too, does not keep what is linked to it from telling that it is
    // cancelled. That must not be taken for the next try's.
    if (!last && (step.tells || without_copy(step, step.bytes - offset)))
        line.owed = static_cast<std::uint32_t>(line.chain->size()) - at - 1;
    if (line.owed == 0) come_back(*run, line);
    if (whole) {
        line.step = at + 1;
        line.offset = 0;
        --(index < run->plan->receives.size() ? run->receives_open : run->stage_open);
        return;
    }
    if (completion.res > 0) {
        line.offset += static_cast<std::uint64_t>(completion.res);
        return;  // the next try tells what stopped it
    }
    const bool ended = completion.res == 0 && step.kind == Step::Kind::receive;
    if (completion.res == -ECANCELED || completion.res == -EINTR || completion.res == -EAGAIN ||
        (completion.res == 0 && !ended)) {
        return;
    }
    if (run->error.empty()) run->error = told(*run, step, ended ? ECONNRESET : -completion.res);
}

void Reactor::come_back(Run& run, Line& line) {
    line.in_kernel = false;
    --run.lines_in_kernel;
    touched_.push_back(&run);
}

// Looks at the runs that completions have touched, and at those that they have made room for.
void Reactor::settle(bool may_work) {
    while (!touched_.empty()) {
        Run& run = *touched_.back();
        touched_.pop_back();
        if (run.state == Run::State::queued) launch(run);
        if (run.state == Run::State::running && !run.error.empty()) fail(run, run.error);
        hand_over(run);
        advance(run, may_work);
    }
}

void Reactor::complete(Run& run) {
    for (const Gate gate : run.gates) gates_.give_back(gate);
    run.gates.clear();
    run.state = Run::State::complete;
    remove(run);
}

void Reactor::fail(Run& run, const std::string& why) {
    run.error = why;
    // The peers shall know, too; and what is in the kernel comes back.
    for (const int socket : run.sockets) ::shutdown(socket, SHUT_RDWR);
    run.moved_inline = true;
    run.state = Run::State::failed;
    take_back(run);
    for (const Gate gate : run.gates) Gates::close(gate);
    run.gates.clear();
    remove(run);
}

void Reactor::move_lines_inline(Run& run) {
    for (std::size_t i = 0; i < run.lines.size(); ++i) {
        Line& line = run.lines[i];
        if (line.in_kernel || line.done()) continue;
        if (const int error = move_inline(run, line); error != 0) {
            fail(run, told(run, (*line.chain)[line.step], error));
            return;
        }
        if (line.done()) --(i < run.plan->receives.size() ? run.receives_open : run.stage_open);
    }
}

// Stops what is in the kernel. A step may complete, and the next begin, while it is being stopped: so again.
void Reactor::take_back(Run& run) {
    const bool alone = free_ids_.size() + 1 == runs_.size();
    for (int tries = 0; run.lines_in_kernel > 0; ++tries) {
        if (tries > 10000) {  // another thread's operations that do not come back: it does not run
            if (run.state == Run::State::running) run.moved_inline = false;
            return;
        }
        if (alone) {
            ring_.cancel_all();
        } else {
            for (const int socket : run.sockets) ring_.cancel(socket);
            for (const Gate gate : run.gates) {
                ring_.cancel(gate.exit);
                ring_.cancel(gate.entrance);
            }
        }
        reap();
        if (tries > 10) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

std::string Reactor::told(const Run& run, const PlannedStep& step, int error) const {
    if (step.kind != Step::Kind::send && step.kind != Step::Kind::receive) {
        return fmt::format("a gate of the kernel engine: {}", std::strerror(error));
    }
    return why_broken(connections_, run.plan->peers[step.slot], error);
}

bool Reactor::event_thread_is_needed() const {
    for (const auto& lane : lanes_) {
        if (lane.size() > 1) return true;
    }
    if (!context_.event_thread_works) return false;
    return std::any_of(runs_.begin(), runs_.end(), [](const Run* run) {
        return run != nullptr && run->state == Run::State::running && run->plan->has_work &&
               !run->plan->needs_caller && run->host_step < run->plan->host_steps.size();
    });
}

// The event thread looks at the ring as long as something is to be done that is not the kernel's: the next
// run of a lane, or local work.
void Reactor::ask_event_thread() {
    if (watched_ || !event_thread_is_needed()) return;
    watched_ = true;
    connections_.event_loop().watch(ring_.descriptor(), EPOLLIN,
                                    [door = door_](unsigned) { door->attend(); });
}

void Reactor::attend() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t told = told_;
    reap();
    const std::size_t free = free_ids_.size();
    for (const auto& lane : lanes_) {
        if (!lane.empty() && !lane.front()->moved_inline) touched_.push_back(lane.front());
    }
    if (context_.event_thread_submits) {
        for (Run* run : runs_) {
            if (run != nullptr && run->state == Run::State::running && !run->moved_inline) submit(*run);
        }
    }
    attending_ = true;
    wants_thread_ = false;
    settle(context_.event_thread_works);
    attending_ = false;
    if (free_ids_.size() != free || wants_thread_ || (told_ != told && !needing_thread_.empty())) {
        // Somebody may sleep on the ring for what has completed here, or what has come as far as to need him.
        ring_.reserve(1);
        io_uring_sqe* wake = ring_.next();
        io_uring_prep_nop(wake);
        wake->user_data = nobody;
        ring_.submit();
    }
    if (watched_ && !event_thread_is_needed()) {
        watched_ = false;
        connections_.event_loop().forget(ring_.descriptor());
    }
}

}  // namespace lapwing::kernel
