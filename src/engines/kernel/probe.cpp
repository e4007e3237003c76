#include "engines/kernel/probe.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "engines/kernel/ring.hpp"

namespace lapwing::kernel {
namespace {

// Returns whether the next completion is that of the operation with this user data, with this result. Waits
// for it for 2 s.
bool completes(Ring& ring, std::uint64_t user_data, int result) {
    pollfd readable{ring.descriptor(), POLLIN, 0};
    ::poll(&readable, 1, 2000);
    bool right = false;
    ring.reap([&](const io_uring_cqe& completion) {
        right = completion.user_data == user_data && completion.res == result;
    });
    return right;
}

// Receives a byte and then sends one: the second operation is linked to the first.
bool chain_works(Ring& ring, int end, int other_end) {
    static char byte = 'x';
    char received = 0;
    io_uring_sqe* sqe = ring.next();
    io_uring_prep_recv(sqe, end, &received, 1, MSG_WAITALL);
    sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    sqe->user_data = 1;
    sqe = ring.next();
    io_uring_prep_send(sqe, end, &byte, 1, MSG_WAITALL | MSG_NOSIGNAL);
    sqe->user_data = 2;
    ring.submit();
    if (::send(other_end, &byte, 1, MSG_NOSIGNAL) != 1) return false;
    char back = 0;
    return completes(ring, 2, 1) && received == 'x' && ::recv(other_end, &back, 1, MSG_DONTWAIT) == 1;
}

bool cancellation_works(Ring& ring, int end) {
    char received = 0;
    io_uring_sqe* sqe = ring.next();
    io_uring_prep_recv(sqe, end, &received, 1, MSG_WAITALL);
    sqe->user_data = 3;
    ring.submit();
    return ring.cancel_all() && completes(ring, 3, -ECANCELED);
}

std::string why_not() {
    try {
        int pair[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) throw_system("socketpair");
        const Descriptor end(pair[0]);
        const Descriptor other_end(pair[1]);
        Ring ring;
        if (!chain_works(ring, end.get(), other_end.get()))
            return "io_uring does not run a chain of linked operations as Linux 6.1 does";
        if (!cancellation_works(ring, end.get()))
            return "io_uring does not cancel operations as Linux 6.1 does, or a seccomp filter refuses "
                   "io_uring_register";
    } catch (const Error& error) {
        return error.what();
    }
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
        io_uring ring{};
        if (io_uring_queue_init(8, &ring, 0) != 0) return false;
        const bool sets = sets_socket_options(ring);
        io_uring_queue_exit(&ring);
        return sets;
    }();
    return result;
}

}  // namespace lapwing::kernel
