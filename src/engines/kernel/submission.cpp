#include "engines/kernel/submission.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

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
    std::size_t operations = 0;
    for (std::uint32_t i = progress.step; i < chain.size(); ++i) operations += chain[i].operations();
    ring_.reserve(operations);
    for (std::uint32_t i = progress.step; i < chain.size(); ++i) {
        const PlannedStep& step = chain[i];
        const bool last = i + 1 == chain.size();
        std::uint64_t offset = i == progress.step ? progress.offset : 0;
        StepTag tag{run.id, static_cast<std::uint32_t>(number), i};
        if (step.low_water_mark > 0 && offset <= step.tail()) {
            add_body_and_pause(step, run.operands, offset, tag);
            offset = step.tail();
            tag.part = StepTag::Part::tail;
        }
        io_uring_sqe& operation = *ring_.next();
        prepare(operation, run.operands, step, offset, step.bytes);
        // Not hard links, which continue after an error.
        if (!last) operation.flags |= IOSQE_IO_LINK;
        if (!last && !step.signals_completion) operation.flags |= IOSQE_CQE_SKIP_SUCCESS;
        operation.user_data = tag.packed();
    }
    run.chains.enter_kernel(progress);
    if (run.trace != nullptr) run.trace->submitted(number);
}

// All these operations are linked to the next one, and report only their failure.
void Submission::add_body_and_pause(const PlannedStep& step, StepOperands& operands, std::uint64_t offset,
                                    StepTag& tag) {
    static constexpr int every_byte = 1;
    const int descriptor = operands.descriptor(step);
    const auto next = [&]() -> io_uring_sqe& { return *ring_.next(); };
    const auto link = [&](io_uring_sqe& operation) {
        operation.flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
        operation.user_data = tag.packed();
    };
    const auto set_mark = [&](const int& mark) {
        io_uring_sqe& operation = next();
        prepare_low_water_mark(operation, descriptor, mark);
        link(operation);
    };
    tag.part = StepTag::Part::body;
    set_mark(step.low_water_mark);
    if (offset < step.tail()) {
        io_uring_sqe& body = next();
        prepare(body, operands, step, offset, step.tail());
        link(body);
    }
    tag.part = StepTag::Part::pause;
    io_uring_sqe& pause = next();
    io_uring_prep_poll_add(&pause, descriptor, POLLIN);
    link(pause);
    set_mark(every_byte);
}

// With MSG_WAITALL, because a short count would otherwise be a success and the chain would continue too
// early.
void Submission::prepare(io_uring_sqe& operation, StepOperands& operands, const PlannedStep& step,
                         std::uint64_t offset, std::uint64_t end) {
    const int descriptor = operands.descriptor(step);
    if (!step.sends()) {
        io_uring_prep_recv(&operation, descriptor, operands.target(step) + offset, end - offset, MSG_WAITALL);
    } else {
        io_uring_prep_send(&operation, descriptor, operands.source(step) + offset, end - offset,
                           MSG_WAITALL | MSG_NOSIGNAL);
    }
}

void Submission::cancel(const KernelRun& run) {
    for (const int socket : run.operands.sockets) ring_.cancel(socket);
    for (const Gate& gate : run.operands.gates) {
        ring_.cancel(gate.exit.get());
        ring_.cancel(gate.entrance.get());
    }
}

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
    if (!reports) {
        // The operations may have left a mark.
        const int every_byte = 1;
        ::setsockopt(run.operands.descriptor(step), SOL_SOCKET, SO_RCVLOWAT, &every_byte, sizeof every_byte);
    }
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
