#include "engines/kernel/run.hpp"

#include <sys/socket.h>

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

// Returns 0, or the errno of the step that failed: ECONNRESET if the peer has closed the connection.
int advance_chain(KernelRun& run, ChainProgress& progress) {
    StepOperands& operands = run.operands;
    while (progress.step < progress.chain->size()) {
        const PlannedStep& step = progress.next();
        if (!run.has_turn(step)) return 0;
        const int descriptor = operands.descriptor(step);
        const std::uint64_t left = step.bytes - progress.offset;
        ssize_t moved = 0;
        do {
            moved = step.sends()
                        ? ::send(descriptor, operands.source(step) + progress.offset, left,
                                 MSG_DONTWAIT | MSG_NOSIGNAL)
                        : ::recv(descriptor, operands.target(step) + progress.offset, left, MSG_DONTWAIT);
        } while (moved < 0 && errno == EINTR);
        if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
        if (moved < 0) return errno;
        if (moved == 0 && !step.sends()) return ECONNRESET;
        progress.offset += static_cast<std::uint64_t>(moved);
        if (progress.offset < step.bytes) continue;
        progress.offset = 0;
        ++progress.step;
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

bool advance_inline(KernelRun& run) {
    for (std::size_t i = 0; i < run.chains.size(); ++i) {
        ChainProgress& progress = run.chains[i];
        if (progress.in_kernel || progress.done()) continue;
        if (const int error = advance_chain(run, progress); error != 0) {
            run.break_at(progress.next(), error);
            return false;
        }
        if (progress.done()) run.chains.completed(i);
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
