// The chains of a run moved by the caller's processor: the same steps, by plain calls. For callers that have
// nothing else to do, to whom the kernel's interrupts would only be a detour.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

std::string why_broken(int error) {
    if (error == 0 || error == ECONNRESET || error == EPIPE) {
        return "closed the connection: its process has ended, or has given up";
    }
    if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN) {
        return std::string("is out of reach: ") + std::strerror(error) +
               " (LAPWING_TIMEOUT says how long the network may be silent)";
    }
    return std::strerror(error);
}

void move_by_hand(Run& run, Line& line) {
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
        if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (moved < 0 || (moved == 0 && !sends)) {
            throw Error(ErrorCode::link, why_broken(moved < 0 ? errno : 0));
        }
        line.offset += static_cast<std::uint64_t>(moved);
        if (line.offset < step.bytes) continue;
        line.offset = 0;
        ++line.step;
    }
}

}  // namespace lapwing::kernel
