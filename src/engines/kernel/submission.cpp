#include "engines/kernel/submission.hpp"

#include <sys/socket.h>

#include "engines/kernel/step_tag.hpp"

namespace lapwing::kernel {

void Submission::submit(KernelRun& run) {
    for (std::size_t i = 0; i < run.chains.size(); ++i) {
        if (!run.chains[i].in_kernel && !run.chains[i].done()) submit(run, i);
    }
    ring_.submit();
}

void Submission::submit(KernelRun& run, std::size_t number) {
    ChainProgress& progress = run.chains[number];
    const PlannedChain& chain = *progress.chain;
    ring_.reserve(chain.size() - progress.step);
    for (std::uint32_t i = progress.step; i < chain.size(); ++i) {
        const PlannedStep& step = chain[i];
        const bool last = i + 1 == chain.size();
        io_uring_sqe& operation = *ring_.next();
        prepare(operation, run.operands, step, i == progress.step ? progress.offset : 0);
        // Not hard links, which continue after an error.
        if (!last) operation.flags |= IOSQE_IO_LINK;
        if (!last && !step.signals_completion) operation.flags |= IOSQE_CQE_SKIP_SUCCESS;
        operation.user_data = StepTag{run.id, static_cast<std::uint32_t>(number), i}.packed();
    }
    run.chains.enter_kernel(progress);
    if (run.trace != nullptr) run.trace->submitted(number);
}

// With MSG_WAITALL, because a short count would otherwise be a success and the chain would continue too
// early.
void Submission::prepare(io_uring_sqe& operation, StepOperands& operands, const PlannedStep& step,
                         std::uint64_t offset) {
    const int descriptor = operands.descriptor(step);
    const std::uint64_t bytes = step.bytes - offset;
    if (!step.sends()) {
        io_uring_prep_recv(&operation, descriptor, operands.target(step) + offset, bytes, MSG_WAITALL);
    } else {
        io_uring_prep_send(&operation, descriptor, operands.source(step) + offset, bytes,
                           MSG_WAITALL | MSG_NOSIGNAL);
    }
}

void Submission::cancel(const KernelRun& run) {
    for (const int socket : run.operands.sockets) ring_.cancel(socket);
    for (const Gate gate : run.operands.gates) {
        ring_.cancel(gate.exit);
        ring_.cancel(gate.entrance);
    }
}

}  // namespace lapwing::kernel
