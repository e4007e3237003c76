#include "engines/kernel/inline_steps.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace lapwing::kernel {
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
