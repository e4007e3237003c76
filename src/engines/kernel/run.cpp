#include "engines/kernel/run.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "engines/local_work.hpp"

namespace lapwing::kernel {

Gate Gates::acquire() {
    if (!idle_.empty()) {
        Gate gate = std::move(idle_.back());
        idle_.pop_back();
        return gate;
    }
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw Error(ErrorCode::system, "cannot create a socket pair for the kernel engine: {}{}",
                    std::strerror(errno),
                    errno == EMFILE ? "; raise `ulimit -n`, or set LAPWING_ENGINE=host" : "");
    }
    // Holds more signals than any list has on one gate (ChainLimits::gate_signals). The system's default may
    // be smaller.
    constexpr int room = 212992;
    ::setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    return {Descriptor(pair[0]), Descriptor(pair[1])};
}

namespace {

// Messages of several runs in one direction of a connection, in the order of their turns, that one system
// call moves.
class Batch {
  public:
    // The next step of a chain that is not done.
    void add(KernelRun& run, ChainProgress& chain) {
        const PlannedStep& step = chain.next();
        std::byte* const bytes =
            step.sends() ? const_cast<std::byte*>(run.operands.source(step)) : run.operands.target(step);
        bytes_[size_] = {bytes + chain.offset, step.bytes - chain.offset};
        places_[size_++] = {&run, &chain};
    }
    // The steps that follow `step` of `run`, if that is the last one of its turn.
    void add_behind(const KernelRun& run, const PlannedStep& step) {
        if (!step.has_peer()) return;
        const Turn* turn = &run.turns[step.direction()];
        while (turn->left == 1 && turn->next != nullptr && size_ < max_messages) {
            turn = turn->next;
            ChainProgress* const next = turn->run->chain_at(*turn);
            if (next == nullptr) return;
            add(*turn->run, *next);
        }
    }
    bool empty() const { return size_ == 0; }

    // Returns the bytes that have moved, 0 at the end of the connection, or -1 with errno.
    ssize_t move(int descriptor, bool sends) {
        msghdr message{};
        message.msg_iov = bytes_.data();
        message.msg_iovlen = size_;
        const auto [first, length] = bytes_.front();
        ssize_t moved = 0;
        do {
            if (size_ == 1) {
                moved = sends ? ::send(descriptor, first, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : ::recv(descriptor, first, length, MSG_DONTWAIT);
            } else {
                moved = sends ? ::sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : ::recvmsg(descriptor, &message, MSG_DONTWAIT);
            }
        } while (moved < 0 && errno == EINTR);
        return moved;
    }
    // Adds the other runs that have thereby done a step to `others`.
    void count(ssize_t moved, const KernelRun& run, std::vector<KernelRun*>& others) {
        auto left = static_cast<std::uint64_t>(std::max<ssize_t>(moved, 0));
        for (std::size_t i = 0; i < size_ && left > 0; ++i) {
            const std::uint64_t bytes = std::min<std::uint64_t>(left, bytes_[i].iov_len);
            left -= bytes;
            const auto [of, chain] = places_[i];
            if (of->chains.advance(*chain, bytes) && of != &run) others.push_back(of);
        }
    }

  private:
    static constexpr std::size_t max_messages = 64;
    struct Place {
        KernelRun* run;
        ChainProgress* chain;
    };
    std::array<iovec, max_messages> bytes_;
    std::array<Place, max_messages> places_;
    std::size_t size_ = 0;
};

// Returns 0, or the errno of the step that failed: ECONNRESET if the peer has closed the connection.
int advance_chain(KernelRun& run, ChainProgress& chain, std::vector<KernelRun*>& others) {
    while (!chain.done() && others.empty()) {
        const PlannedStep& step = chain.next();
        if (!run.has_turn(step)) return 0;
        const int descriptor = run.operands.descriptor(step);
        Batch batch;
        batch.add(run, chain);
        if (step.sends()) batch.add_behind(run, step);
        const ssize_t moved = batch.move(descriptor, step.sends());
        if (moved < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
        if (moved == 0 && !step.sends()) return ECONNRESET;
        batch.count(moved, run, others);
        if (step.sends() || chain.offset > 0) continue;
        // A message has come: so may have those behind it.
        Batch behind;
        behind.add_behind(run, step);
        if (!behind.empty()) behind.count(behind.move(descriptor, false), run, others);
    }
    return 0;
}

// Starts a message, or returns whether those of a wait have arrived.
bool do_message(KernelRun& run, const HostStep& step, Link* link) {
    const Task& task = step.task;
    if (task.kind == Kind::wait) return run.host.messages.seen(step.index);
    if (link == nullptr) return false;
    const Memory& memory = run.operands.memory;
    Messages& messages = run.host.messages;
    if (task.kind == Kind::recv) {
        link->recv(task.peer, memory.target(task.target), task.target.length, run.channel,
                   messages.next_receive());
    } else {
        link->send(task.peer, memory.source(task.source), task.source.length, run.channel,
                   messages.next_send());
    }
    run.host.open = true;
    return true;
}

}  // namespace

bool advance_inline(KernelRun& run, std::vector<KernelRun*>& others) {
    for (std::size_t i = 0; i < run.chains.size(); ++i) {
        ChainProgress& chain = run.chains[i];
        if (chain.in_kernel || chain.done()) continue;
        if (const int error = advance_chain(run, chain, others); error != 0) {
            run.break_at(chain.next(), error);
            return false;
        }
    }
    return true;
}

bool advance_host_steps(KernelRun& run, Link* link, bool may_work) {
    const HostProgram& program = run.plan->host;
    HostCursor& at = run.host;
    // Receives are tested from the first on, so all of them must have been posted.
    if (at.open && link != nullptr && at.next >= program.receives_until) {
        const bool arrived = at.messages.arrived(*link, program.messages, program.messages.awaited());
        const bool sent = at.messages.sent(*link);
        at.open = !arrived || !sent;
    }
    for (; !run.may_begin_stage() && run.host_steps_left(); ++at.next) {
        const HostStep& step = program.steps[at.next];
        if (run.trace != nullptr) run.trace->begin_host_step(step);
        switch (step.kind) {
            case HostStep::Kind::work:
                if (!may_work) return true;
                work(run.operands.memory, {&step.task, 1});
                break;
            case HostStep::Kind::intra_node:
                if (!do_message(run, step, link)) return true;
                break;
            case HostStep::Kind::receipt:
                if (step.chain >= run.chains.size() || run.chains[step.chain].steps_done() < step.index)
                    return false;
                break;
            case HostStep::Kind::stage:
                if (run.chains.stage() < step.index) return false;
                break;
            case HostStep::Kind::end:
                if (!run.chains.all_complete(*run.plan)) return false;
                break;
        }
        if (run.trace != nullptr) run.trace->end_host_step(at.next);
    }
    return false;
}

}  // namespace lapwing::kernel
