// The chains of a run moved by the caller's processor: the same steps, by plain calls. For callers that have
// nothing else to do, to whom the kernel's interrupts would only be a detour.
#include <sys/socket.h>

#include <cerrno>

#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

int move_inline(Run& run, Line& line) {
    while (line.step < line.chain->size()) {
        const PlannedStep& step = (*line.chain)[line.step];
        const bool sends = step.kind == Step::Kind::send || step.kind == Step::Kind::signal;
        const std::uint64_t left = step.bytes - line.offset;
        ssize_t moved = 0;
        do {
            moved = sends
                        ? ::send(run.descriptor(step), run.sent(step) + line.offset, left,
                                 MSG_DONTWAIT | MSG_NOSIGNAL)
                        : ::recv(run.descriptor(step), run.received(step) + line.offset, left, MSG_DONTWAIT);
        } while (moved < 0 && errno == EINTR);
        if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
        if (moved < 0) return errno;
        if (moved == 0 && !sends) return ECONNRESET;
        line.offset += static_cast<std::uint64_t>(moved);
        if (line.offset < step.bytes) continue;
        line.offset = 0;
        ++line.step;
    }
    return 0;
}

}  // namespace lapwing::kernel
