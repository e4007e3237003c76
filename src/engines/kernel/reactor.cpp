#include "engines/kernel/reactor.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "engines/local_work.hpp"

namespace lapwing::kernel {
namespace {

constexpr std::uint64_t nobody = UINT64_MAX;  // of a completion that only wakes

// Which step of which line of which run a completion belongs to.
std::uint64_t tag(std::uint32_t run, std::size_t line, std::size_t step) {
    return std::uint64_t{run} << 40 | static_cast<std::uint64_t>(line) << 16 |
           static_cast<std::uint64_t>(step);
}
constexpr std::size_t most_lines = 1U << 24;

Ground without_state(const Ground& ground) {
    Ground copy = ground;
    copy.kernel_state = nullptr;
    return copy;
}

}  // namespace

std::shared_ptr<Reactor> Reactor::of(const Ground& ground) {
    if (ground.kernel_state == nullptr) ground.kernel_state = std::make_shared<Reactor>(ground);
    return std::static_pointer_cast<Reactor>(ground.kernel_state);
}

Reactor::Reactor(const Ground& ground)
    : connections_(*ground.connections),
      ground_(without_state(ground)),
      turns_(static_cast<std::size_t>(std::max(1, ground.connections->lanes() - ground.kept_lanes))),
      lanes_(turns_) {
    door_->reactor = this;
    connections_.on_change([door = door_] { door->attend(); });
}

Reactor::~Reactor() {
    {
        const std::lock_guard lock(door_->mutex);
        door_->reactor = nullptr;
    }
    connections_.on_change({});
    connections_.attendant().forget(ring_.descriptor());
}

void Reactor::want(const Plan& plan) {
    const std::lock_guard lock(mutex_);
    for (std::size_t lane = 0; lane < turns_; ++lane) {
        for (const int peer : plan.peers) connections_.want(peer, static_cast<int>(lane));
    }
}

// Kept lanes are made when they are first used.
std::size_t Reactor::lane_of(std::uint32_t channel) {
    if (channel < first_kept_channel) return channel % turns_;
    const std::size_t lane = turns_ + (channel - first_kept_channel);
    if (lane >= lanes_.size()) lanes_.resize(lane + 1);
    return lane;
}

void Reactor::start(Run& run, std::uint32_t channel) {
    const std::lock_guard lock(mutex_);
    run.state = Run::State::queued;
    run.error.clear();
    run.lane = lane_of(channel);
    if (run.lane >= turns_) {
        for (const int peer : run.plan->peers) connections_.want(peer, static_cast<int>(run.lane));
    }
    run.stage = 0;
    run.lines.clear();
    run.stage_open = run.receives_open = run.lines_in_kernel = 0;
    run.notifications = 0;
    run.pressed = false;
    run.first_work_done = false;
    const auto do_first_work = [&] {
        if (run.first_work_done) return;
        if (!run.plan->stages.empty()) work(run.memory, run.plan->stages.front().local);
        run.first_work_done = true;
    };
    if (!run.plan->local_may_follow) do_first_work();
    add(run);
    launch(run);
    do_first_work();
    advance(run, true);
    settle(true);
    ask_attendant();
}

bool Reactor::test(Run& run) {
    // The attendant may be at some long reduction.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    run.pressed = false;
    reap();
    settle(true);
    if (run.state == Run::State::queued) launch(run);
    if (run.state == Run::State::running) {
        hand_over(run);
        advance(run, true);
        settle(true);
    }
    return result(run);
}

bool Reactor::press(Run& run) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    reap();
    settle(true);
    if (run.state == Run::State::queued) launch(run);
    if (run.state == Run::State::running) {
        if (run.plan->wire_bytes <= most_bytes_by_hand) {
            run.pressed = true;
            take_back(run);
            if (run.state == Run::State::running) move_lines_by_hand(run);
        } else {
            hand_over(run);
        }
        advance(run, true);
        settle(true);
    }
    return result(run);
}

int Reactor::rest(Run& run) {
    const std::lock_guard lock(mutex_);
    run.pressed = false;
    if (run.state == Run::State::queued) launch(run);
    if (run.state == Run::State::running) hand_over(run);
    ask_attendant();
    return ring_.descriptor();
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
    std::erase(workless_, &run);
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
    enter_stage(run, 0);
}

void Reactor::enter_stage(Run& run, std::size_t stage) {
    run.stage = stage;
    const std::size_t before = run.lines.size();
    if (stage < run.plan->stages.size()) add_lines(run, run.plan->stages[stage].chains);
    run.stage_open = run.lines.size() - before;
    if (run.plan->wire_bytes <= most_bytes_by_hand) move_lines_by_hand(run);
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
    if (run.pressed || run.state != Run::State::running) return;
    if (run.lines_in_kernel == run.stage_open + run.receives_open) return;
    if (!ground_.attendant_submits) {
        submit(run);
        return;
    }
    connections_.attendant().post([door = door_] { door->attend(); });
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
        bool tells = last;
        switch (step.kind) {
            case Step::Kind::send:
                if (bytes >= ground_.zero_copy_bytes && ring_.sends_without_copy()) {
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
    if (!line.in_kernel) return;  // of what was linked to an operation that has told its failure
    const std::uint32_t at = completion.user_data & 0xffff;
    const PlannedStep& step = (*line.chain)[at];
    const std::uint64_t offset = at == line.step ? line.offset : 0;
    const bool whole =
        completion.res >= 0 && offset + static_cast<std::uint64_t>(completion.res) == step.bytes;
    const bool last = at + 1 == line.chain->size();
    if (whole && !last) return;  // of a send without a copy
    // The chain has come to its end, or has stopped at this step: cancelled (by a caller who takes it back,
    // or because the thread that submitted it has ended), or broken.
    line.in_kernel = false;
    --run->lines_in_kernel;
    touched_.push_back(run);
    line.step = at;
    line.offset = offset;
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

// Looks at the runs that completions have touched, and at those that they have made room for.
void Reactor::settle(bool may_work) {
    if (may_work) {
        touched_.insert(touched_.end(), workless_.begin(), workless_.end());
        workless_.clear();
    }
    while (!touched_.empty()) {
        Run& run = *touched_.back();
        touched_.pop_back();
        if (run.state == Run::State::queued) launch(run);
        if (run.state != Run::State::running) continue;
        if (!run.error.empty()) {
            fail(run, run.error);
            continue;
        }
        hand_over(run);
        advance(run, may_work);
    }
}

void Reactor::advance(Run& run, bool may_work) {
    while (run.state == Run::State::running && run.stage_open == 0) {
        const Plan& plan = *run.plan;
        if (run.stage + 1 < plan.stages.size()) {
            if (!may_work || (plan.needs_caller && attending_)) return workless_.push_back(&run);
            work(run.memory, plan.stages[run.stage + 1].local);
            enter_stage(run, run.stage + 1);
            continue;
        }
        if (run.receives_open > 0 || run.notifications > 0 || !run.first_work_done) return;
        if (!plan.last.empty() && (!may_work || (plan.needs_caller && attending_)))
            return workless_.push_back(&run);
        work(run.memory, plan.last);
        complete(run);
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
    run.pressed = true;
    run.state = Run::State::failed;
    take_back(run);
    for (const Gate gate : run.gates) Gates::close(gate);
    run.gates.clear();
    remove(run);
}

void Reactor::move_lines_by_hand(Run& run) {
    for (std::size_t i = 0; i < run.lines.size(); ++i) {
        Line& line = run.lines[i];
        if (line.in_kernel || line.done()) continue;
        if (const int error = move_by_hand(run, line); error != 0) {
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
            if (run.state == Run::State::running) run.pressed = false;
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

bool Reactor::attendant_is_needed() const {
    for (const auto& lane : lanes_) {
        if (lane.size() > 1) return true;
    }
    if (!ground_.attendant_works) return false;
    return std::any_of(runs_.begin(), runs_.end(), [](const Run* run) {
        return run != nullptr && run->state == Run::State::running && !run->plan->needs_caller &&
               (run->stage + 1 < run->plan->stages.size() || !run->plan->last.empty());
    });
}

// The attendant looks at the ring as long as something is to be done that is not the kernel's: the next run
// of a lane, or local work.
void Reactor::ask_attendant() {
    if (watched_ || !attendant_is_needed()) return;
    watched_ = true;
    connections_.attendant().watch(ring_.descriptor(), EPOLLIN, [door = door_](unsigned) { door->attend(); });
}

void Reactor::attend() {
    const std::lock_guard lock(mutex_);
    reap();
    const std::size_t alive = free_ids_.size();
    for (const auto& lane : lanes_) {
        if (!lane.empty() && !lane.front()->pressed) touched_.push_back(lane.front());
    }
    if (ground_.attendant_submits) {
        for (Run* run : runs_) {
            if (run != nullptr && run->state == Run::State::running && !run->pressed) submit(*run);
        }
    }
    attending_ = true;
    settle(ground_.attendant_works);
    attending_ = false;
    if (free_ids_.size() != alive) {
        // Somebody may sleep on the ring for what has completed here.
        ring_.reserve(1);
        io_uring_sqe* wake = ring_.next();
        io_uring_prep_nop(wake);
        wake->user_data = nobody;
        ring_.submit();
    }
    if (watched_ && !attendant_is_needed()) {
        watched_ = false;
        connections_.attendant().forget(ring_.descriptor());
    }
}

}  // namespace lapwing::kernel
