#include "engines/kernel/completions.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace lapwing::kernel {
namespace {

// After operations that may have left a mark.
void reset_low_water_mark(int socket) {
    const int every_byte = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &every_byte, sizeof every_byte);
}

}  // namespace

void Completions::poll() {
    ring_.reap([this](const io_uring_cqe& completion) { handle(completion); });
}

void Completions::handle(const io_uring_cqe& completion) {
    if (completion.user_data == Ring::wake_up) return;
    const StepTag tag = StepTag::of(completion.user_data);
    KernelRun* const run = runs_.find(tag.run);
    if (run == nullptr) return;
    ChainProgress& chain = run->chains[tag.chain];
    if (!chain.in_kernel) return;
    if (chain.cancelled_due > 0) {
        if (--chain.cancelled_due == 0) leave_kernel(*run, chain);
        return;
    }
    ++handled_;
    const PlannedStep& step = (*chain.chain)[tag.step];
    std::uint64_t offset = tag.step == chain.step ? chain.offset : 0;
    if (tag.part == StepTag::Part::pause || tag.part == StepTag::Part::tail)
        offset = std::max(offset, step.tail());
    const bool whole =
        completion.res >= 0 && offset + static_cast<std::uint64_t>(completion.res) == step.bytes;
    if (whole && tag.step + 1 < chain.chain->size()) {
        // A host step waits for this step. The chain continues in the kernel.
        chain.reported = std::max(chain.reported, tag.step + 1);
        changed_.push_back(run);
        return;
    }
    stop(*run, tag, offset, completion.res);
}

// The chain is complete or has stopped at this step, of which `offset` bytes were done before the operation.
// It was cancelled (by a caller, or because the thread that submitted it has ended), or the step has failed.
void Completions::stop(KernelRun& run, const StepTag& tag, std::uint64_t offset, int result) {
    ChainProgress& chain = run.chains[tag.chain];
    const PlannedStep& step = (*chain.chain)[tag.step];
    chain.step = tag.step;
    chain.offset = offset;
    const bool reports = tag.part == StepTag::Part::whole || tag.part == StepTag::Part::tail;
    // If an operation that reports its success stops, the operations linked to it report that they are
    // cancelled. These completions must not be taken for those of the next submission.
    if (step.signals_completion && reports) {
        for (std::size_t i = tag.step + 1; i < chain.chain->size(); ++i)
            chain.cancelled_due += (*chain.chain)[i].operations();
    }
    if (!reports) reset_low_water_mark(run.operands.descriptor(step));
    if (chain.cancelled_due == 0) leave_kernel(run, chain);
    if (result > 0) {
        chain.offset += static_cast<std::uint64_t>(result);
        if (chain.offset < step.bytes) return;  // the next submission reports the reason
        chain.step = tag.step + 1;
        chain.offset = 0;
        run.chains.completed(tag.chain);
        return;
    }
    const bool closed = result == 0 && step.kind == Step::Kind::receive;
    const bool may_retry = result == -ECANCELED || result == -EINTR || result == -EAGAIN || result == 0;
    if (closed) {
        run.break_at(step, ECONNRESET);
    } else if (!may_retry) {
        run.break_at(step, -result);
    }
}

void Completions::leave_kernel(KernelRun& run, ChainProgress& chain) {
    run.chains.leave_kernel(chain);
    changed_.push_back(&run);
}

}  // namespace lapwing::kernel
