#include "engines/kernel/submission.hpp"

#include <poll.h>
#include <sys/socket.h>

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
        prepare_socket_option(operation, descriptor, SOL_SOCKET, SO_RCVLOWAT, mark);
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
    for (const Gate gate : run.operands.gates) {
        ring_.cancel(gate.exit);
        ring_.cancel(gate.entrance);
    }
}

}  // namespace lapwing::kernel
