#include "engines/kernel/ring.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::kernel {
namespace {

[[noreturn]] void refuse(const char* call, int error) {
    throw Error(ErrorCode::system, "{}: {}{}", call, std::strerror(error),
                error == EMFILE   ? "; raise `ulimit -n`"
                : error == ENOMEM ? "; raise `ulimit -l`"
                                  : "");
}

}  // namespace

Ring::Ring() {
    io_uring_params parameters{};
    // The default mode: only in this mode the kernel interrupts the program's thread to continue a chain. A
    // chain must enter the kernel as a whole, even if one of its operations is refused.
    parameters.flags = IORING_SETUP_SUBMIT_ALL;
    const int error = io_uring_queue_init_params(entries, &ring_, &parameters);
    if (error < 0) refuse("io_uring_setup", -error);
    // A child of fork() must not share the queues.
    io_uring_ring_dontfork(&ring_);
}

Ring::~Ring() {
    io_uring_queue_exit(&ring_);
}

void Ring::reserve(std::size_t operations) {
    if (io_uring_sq_space_left(&ring_) < operations) submit();
}

void Ring::submit() {
    while (io_uring_sq_ready(&ring_) > 0) {
        const int submitted = io_uring_submit(&ring_);
        if (submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN) continue;
        refuse("io_uring_enter", -submitted);
    }
}

void Ring::wake() {
    try {
        reserve(1);
        io_uring_sqe* operation = next();
        io_uring_prep_nop(operation);
        operation->user_data = wake_up;
        submit();
    } catch (const Error&) {
        // The kernel has no memory for it. Who sleeps at the ring looks again when its sleep ends.
    }
}

void Ring::cancel_all() {
    cancel_operations(ring_, -1, IORING_ASYNC_CANCEL_ANY);
}

void Ring::cancel(int descriptor) {
    cancel_operations(ring_, descriptor, IORING_ASYNC_CANCEL_FD);
}

int cancel_operations(io_uring& ring, int descriptor, unsigned which) {
    io_uring_sync_cancel_reg cancel{};
    cancel.fd = descriptor;
    cancel.flags = which | IORING_ASYNC_CANCEL_ALL;
    cancel.timeout = {-1, -1};
    return io_uring_register_sync_cancel(&ring, &cancel);
}

void prepare_low_water_mark(io_uring_sqe& operation, int descriptor, const int& mark) {
    // In the fields of Linux 6.1, which liburing 2.3 has.
    constexpr unsigned set_socket_option = 3;  // SOCKET_URING_OP_SETSOCKOPT
    io_uring_prep_rw(IORING_OP_URING_CMD, &operation, descriptor, nullptr, 0, set_socket_option);
    operation.addr = SOL_SOCKET | std::uint64_t{SO_RCVLOWAT} << 32;
    operation.file_index = sizeof mark;                         // optlen
    operation.addr3 = reinterpret_cast<std::uintptr_t>(&mark);  // optval
}

}  // namespace lapwing::kernel
