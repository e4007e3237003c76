#include "engines/kernel/run.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::kernel {

Gates::~Gates() {
    for (const Gate gate : idle_) close(gate);
}

Gate Gates::acquire() {
    if (!idle_.empty()) {
        const Gate gate = idle_.back();
        idle_.pop_back();
        return gate;
    }
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw Error(ErrorCode::system,
                    fmt::format("cannot create a gate of the kernel engine: {}{}", std::strerror(errno),
                                errno == EMFILE ? "; raise `ulimit -n`, or LAPWING_ENGINE=host" : ""));
    }
    // Holds more signals than any list has on one gate (ChainLimits::gate_signals). The system's default may
    // be smaller.
    constexpr int room = 212992;
    ::setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    return {pair[0], pair[1]};
}

void Gates::close(Gate gate) {
    ::close(gate.entrance);
    ::close(gate.exit);
}

namespace {

// Returns 0, or the errno of the step that failed: ECONNRESET if the peer has closed the connection.
int advance_chain(StepOperands& operands, ChainProgress& progress) {
    while (progress.step < progress.chain->size()) {
        const PlannedStep& step = progress.next();
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

}  // namespace

bool advance_inline(KernelRun& run) {
    for (std::size_t i = 0; i < run.chains.size(); ++i) {
        ChainProgress& progress = run.chains[i];
        if (progress.in_kernel || progress.done()) continue;
        if (const int error = advance_chain(run.operands, progress); error != 0) {
            run.break_at(progress.next(), error);
            return false;
        }
        if (progress.done()) run.chains.completed(i);
    }
    return true;
}

}  // namespace lapwing::kernel
