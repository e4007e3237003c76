#include "engines/kernel/ring.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "base/error.hpp"

namespace lapwing::kernel {
namespace {

[[noreturn]] void refuse_setup(int error) {
    std::string why = "the kernel lacks flags that Linux 6.1 has";  // EINVAL
    if (error == ENOSYS) {
        why =
            "the kernel has no io_uring, or a seccomp filter (of a container, say) hides it; use Linux 6.1 "
            "or later and allow io_uring_setup, io_uring_enter and io_uring_register";
    } else if (error == EPERM || error == EACCES) {
        int disabled = 0;
        std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled;
        why =
            disabled == 0
                ? "not permitted, by a seccomp filter (of a container, say) or a security module; allow "
                  "io_uring_setup, io_uring_enter and io_uring_register"
                : fmt::format(
                      "sysctl kernel.io_uring_disabled is {}; `sysctl kernel.io_uring_disabled=0` allows "
                      "it{}",
                      disabled, disabled == 1 ? ", or membership in the group of kernel.io_uring_group" : "");
    } else if (error == ENOMEM) {
        why = "no memory may be locked; raise `ulimit -l` or the memory limit of the control group";
    } else if (error != EINVAL) {
        throw_system("io_uring_setup", error);
    }
    throw Error(ErrorCode::system, "io_uring_setup: " + why);
}

}  // namespace

Ring::Ring() {
    io_uring_params parameters{};
    // The default mode: only in this mode the kernel interrupts the program's thread to continue a chain. A
    // chain must enter the kernel as a whole, even if one of its operations is refused.
    parameters.flags = IORING_SETUP_SUBMIT_ALL;
    const int error = io_uring_queue_init_params(entries, &ring_, &parameters);
    if (error < 0) refuse_setup(-error);
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
        throw_system("io_uring_enter", -submitted);
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

bool Ring::cancel(int descriptor) {
    io_uring_sync_cancel_reg cancel{};
    cancel.fd = descriptor;
    const unsigned which = descriptor < 0 ? IORING_ASYNC_CANCEL_ANY : IORING_ASYNC_CANCEL_FD;
    cancel.flags = which | IORING_ASYNC_CANCEL_ALL;
    cancel.timeout = {-1, -1};
    return io_uring_register_sync_cancel(&ring_, &cancel) >= 0;
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
