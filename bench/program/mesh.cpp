#include "program/mesh.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "links/tcp/addresses.hpp"
#include "program/clock.hpp"

namespace lapwing::bench {
namespace {

constexpr double connect_limit_seconds = 30;
constexpr double hello_limit_seconds = 5;
constexpr int address_limit_milliseconds = 5000;

// The first message on a connection. All ranks get the key through MPI: a peer without it is no rank of this
// job.
struct Hello {
    tcp::Key key{};
    int distance = 0;
};

[[noreturn]] void fail(const std::string& why) {
    throw Error(ErrorCode::link, why);
}

// Asleep, but not for long: what this rank has sent by MPI before may need it to reach ranks that are still
// in the MPI, which has connections to make.
bool readable_within(int descriptor, double seconds) {
    constexpr double slice = 0.01;
    const double deadline = now() + seconds;
    for (;;) {
        pollfd ready{descriptor, POLLIN, 0};
        const double left = std::clamp(deadline - now(), 0.0, slice);
        if (poll(&ready, 1, static_cast<int>(left * 1000)) > 0) return true;
        if (now() >= deadline) return false;
        int found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    }
}

// Returns 0, or the error.
int connect_at(const tcp::Socket& socket, const sockaddr_storage& address, socklen_t size) {
    if (!socket) return errno;
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    pollfd ready{socket.get(), POLLOUT, 0};
    int found = 0;
    while ((found = poll(&ready, 1, address_limit_milliseconds)) < 0 && errno == EINTR) continue;
    int error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (found > 0) getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

// All ranks listen already.
tcp::Socket connect_to(const tcp::Address& own, const tcp::Address& peer, int rank) {
    std::string why;
    for (const tcp::IpAddress& ip : tcp::routes(own, peer)) {
        sockaddr_storage address{};
        const socklen_t size = tcp::socket_address(ip, peer.port, address);
        tcp::Socket socket = tcp::make_socket(address.ss_family);
        const int error = connect_at(socket, address, size);
        if (error == 0) return socket;
        why += fmt::format("; {}: {}", tcp::text(address), tcp::describe_error(error));
    }
    fail(fmt::format("cannot connect to rank {}{}", rank, why.empty() ? ": it has no address" : why));
}

}  // namespace

Mesh::Mesh(MPI_Comm communicator) {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &ranks);
    const tcp::Options options;
    tcp::Address own{};
    own.host = tcp::host_number();
    std::ranges::copy(tcp::choose(options, tcp::interfaces()), own.ips);
    const std::vector<tcp::Socket> listeners = tcp::listen_on({}, options, own.port);
    Hello hello;
    if (getentropy(hello.key.data(), hello.key.size()) != 0) throw_system("getentropy");
    MPI_Bcast(hello.key.data(), static_cast<int>(hello.key.size()), MPI_BYTE, 0, communicator);
    std::vector<tcp::Address> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, communicator);
    for (int distance = 1; distance < ranks; distance *= 2) {
        const int peer = (rank + distance) % ranks;
        steps_.push_back({distance, connect_to(own, all[static_cast<std::size_t>(peer)], peer), {}});
        hello.distance = distance;
        if (send(steps_.back().to.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
            fail(fmt::format("cannot send to rank {}: {}", peer, std::strerror(errno)));
    }
    const int listener = listeners.front().get();
    const double deadline = now() + connect_limit_seconds;
    for (std::size_t left = steps_.size(); left > 0;) {
        if (!readable_within(listener, deadline - now()))
            fail(fmt::format("not all ranks connected to rank {} within {} seconds", rank,
                             connect_limit_seconds));
        tcp::Socket guest(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!guest && tcp::out_of_descriptors(errno)) fail(tcp::describe_error(errno));
        Hello found;
        if (!guest || !readable_within(guest.get(), hello_limit_seconds) ||
            recv(guest.get(), &found, sizeof found, 0) != sizeof found || found.key != hello.key)
            continue;
        for (Step& step : steps_) {
            if (step.distance != found.distance || step.from) continue;
            step.from = std::move(guest);
            --left;
            break;
        }
    }
    for (const Step& step : steps_) {
        tcp::set_alive(step.to.get(), options);
        tcp::set_alive(step.from.get(), options);
    }
}

void Mesh::barrier(bool sleep) {
    for (const Step& step : steps_) {
        char byte = 0;
        if (send(step.to.get(), &byte, 1, MSG_NOSIGNAL) != 1) fail("a rank has ended during a barrier");
        for (;;) {
            const ssize_t received = recv(step.from.get(), &byte, 1, 0);
            if (received == 1) break;
            if (received == 0 || (errno != EAGAIN && errno != EINTR))
                fail("a rank has ended during a barrier");
            if (sleep)
                readable_within(step.from.get(), 1);
            else
                sched_yield();
        }
    }
}

}  // namespace lapwing::bench
