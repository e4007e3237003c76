#include "engines/kernel/probe.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "engines/kernel/ring.hpp"

namespace lapwing::kernel {
namespace {

struct Trial {
    io_uring ring{};
    bool made = false;
    int pair[2] = {-1, -1};

    ~Trial() {
        if (made) io_uring_queue_exit(&ring);
        for (const int end : pair) {
            if (end >= 0) ::close(end);
        }
    }
};

std::string why_no_ring(int error) {
    if (error == ENOSYS) {
        return "io_uring_setup: the kernel has no io_uring, or a seccomp filter (of a container, say) hides "
               "it; use Linux 6.1 or later and allow io_uring_setup, io_uring_enter and io_uring_register";
    }
    if (error == EPERM || error == EACCES) {
        int disabled = 0;
        std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled;
        if (disabled != 0) {
            return fmt::format(
                "io_uring_setup: sysctl kernel.io_uring_disabled is {}; `sysctl kernel.io_uring_disabled=0` "
                "allows it{}",
                disabled, disabled == 1 ? ", or membership in the group of kernel.io_uring_group" : "");
        }
        return "io_uring_setup: not permitted, by a seccomp filter (of a container, say) or a security "
               "module; allow io_uring_setup, io_uring_enter and io_uring_register";
    }
    if (error == ENOMEM) {
        return "io_uring_setup: no memory may be locked; raise `ulimit -l` or the memory limit of the "
               "control group";
    }
    if (error == EMFILE || error == ENFILE) return "io_uring_setup: no descriptor is free; raise `ulimit -n`";
    return fmt::format("io_uring_setup: {}", std::strerror(error));
}

// Receives a byte and then sends one: the second operation is linked to the first.
bool chain_works(Trial& trial) {
    static char byte = 'x';
    char received = 0;
    io_uring_sqe* sqe = io_uring_get_sqe(&trial.ring);
    io_uring_prep_recv(sqe, trial.pair[0], &received, 1, MSG_WAITALL);
    sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    sqe->user_data = 1;
    sqe = io_uring_get_sqe(&trial.ring);
    io_uring_prep_send(sqe, trial.pair[0], &byte, 1, MSG_WAITALL | MSG_NOSIGNAL);
    sqe->user_data = 2;
    if (io_uring_submit(&trial.ring) != 2) return false;
    if (::send(trial.pair[1], &byte, 1, MSG_NOSIGNAL) != 1) return false;
    io_uring_cqe* cqe = nullptr;
    __kernel_timespec limit{2, 0};
    if (io_uring_wait_cqe_timeout(&trial.ring, &cqe, &limit) != 0) return false;
    const bool right = cqe->user_data == 2 && cqe->res == 1;
    io_uring_cqe_seen(&trial.ring, cqe);
    char back = 0;
    return right && received == 'x' && ::recv(trial.pair[1], &back, 1, MSG_DONTWAIT) == 1;
}

bool cancellation_works(Trial& trial) {
    char received = 0;
    io_uring_sqe* sqe = io_uring_get_sqe(&trial.ring);
    io_uring_prep_recv(sqe, trial.pair[0], &received, 1, MSG_WAITALL);
    sqe->user_data = 3;
    if (io_uring_submit(&trial.ring) != 1) return false;
    if (cancel_operations(trial.ring, -1, IORING_ASYNC_CANCEL_ANY) < 0) {
        ::shutdown(trial.pair[1], SHUT_RDWR);
        return false;
    }
    io_uring_cqe* cqe = nullptr;
    __kernel_timespec limit{2, 0};
    if (io_uring_wait_cqe_timeout(&trial.ring, &cqe, &limit) != 0) return false;
    const bool right = cqe->user_data == 3 && cqe->res == -ECANCELED;
    io_uring_cqe_seen(&trial.ring, cqe);
    return right;
}

std::string why_not() {
    Trial trial;
    io_uring_params parameters{};
    const int error = io_uring_queue_init_params(8, &trial.ring, &parameters);
    if (error < 0) return why_no_ring(-error);
    trial.made = true;
    io_uring_probe* operations = io_uring_get_probe_ring(&trial.ring);
    if (operations == nullptr) return "io_uring_register: not permitted, perhaps by a seccomp filter";
    const bool known = io_uring_opcode_supported(operations, IORING_OP_SEND) != 0 &&
                       io_uring_opcode_supported(operations, IORING_OP_RECV) != 0;
    io_uring_free_probe(operations);
    if (!known || (parameters.features & IORING_FEAT_CQE_SKIP) == 0 ||
        (parameters.features & IORING_FEAT_NODROP) == 0) {
        return "io_uring lacks operations that Linux 6.1 has";
    }
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, trial.pair) != 0)
        return fmt::format("socketpair: {}", std::strerror(errno));
    if (!chain_works(trial)) return "io_uring does not run a chain of linked operations as Linux 6.1 does";
    if (!cancellation_works(trial)) return "io_uring does not cancel operations as Linux 6.1 does";
    return "";
}

}  // namespace

Verdict probe() {
    static const std::string reason = why_not();
    return reason.empty() ? Verdict::yes() : Verdict::no(reason.c_str());
}

bool sets_socket_options(io_uring& ring) {
    int tcp = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (tcp < 0) tcp = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (tcp < 0) return false;
    static constexpr int wanted = 2;
    int set = 0;
    socklen_t size = sizeof set;
    io_uring_cqe* cqe = nullptr;
    prepare_low_water_mark(*io_uring_get_sqe(&ring), tcp, wanted);
    const bool done = io_uring_submit_and_wait(&ring, 1) == 1 && io_uring_peek_cqe(&ring, &cqe) == 0;
    const bool right = done && cqe->res == 0 &&
                       ::getsockopt(tcp, SOL_SOCKET, SO_RCVLOWAT, &set, &size) == 0 && set == wanted;
    if (done) io_uring_cqe_seen(&ring, cqe);
    ::close(tcp);
    return right;
}

bool sets_socket_options() {
    static const bool result = [] {
        Trial trial;
        io_uring_params parameters{};
        trial.made = io_uring_queue_init_params(8, &trial.ring, &parameters) == 0;
        return trial.made && sets_socket_options(trial.ring);
    }();
    return result;
}

}  // namespace lapwing::kernel
