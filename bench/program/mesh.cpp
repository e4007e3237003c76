#include "program/mesh.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "program/clock.hpp"

namespace lapwing::bench {
namespace {

constexpr double connect_limit_seconds = 30;
constexpr int hello_limit_milliseconds = 5000;

[[noreturn]] void fail_at(const std::string& what) {
    throw Error(ErrorCode::link, fmt::format("{}: {}", what, std::strerror(errno)));
}

struct RankAddress {
    sockaddr_storage address{};
    socklen_t length = 0;
};

// The first message on a connection. All ranks get the number through MPI: a peer without it is no rank of
// this job.
struct Hello {
    std::array<unsigned char, 16> token{};
    int rank = 0;
};

// The first address of an interface that is up: IPv4 before IPv6, the loopback last.
RankAddress own_place(const std::string& interface) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) fail_at("getifaddrs");
    RankAddress best;
    int best_value = 0;
    for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        if (!interface.empty() && interface != entry->ifa_name) continue;
        const int family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        if (family == AF_INET6) {
            const auto* six = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
            if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
        }
        const int value = ((entry->ifa_flags & IFF_LOOPBACK) == 0 ? 2 : 0) + (family == AF_INET ? 2 : 1);
        if (value <= best_value) continue;
        best_value = value;
        best.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&best.address, entry->ifa_addr, best.length);
    }
    freeifaddrs(all);
    if (best_value == 0) {
        throw Error(ErrorCode::invalid_argument, fmt::format("no interface{}{} with an address is up",
                                                             interface.empty() ? "" : " ", interface));
    }
    return best;
}

int listen_at(RankAddress& place, int backlog) {
    const int descriptor = socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fail_at("socket");
    auto* address = reinterpret_cast<sockaddr*>(&place.address);
    if (bind(descriptor, address, place.length) != 0) fail_at("bind");
    if (listen(descriptor, backlog) != 0) fail_at("listen");
    if (getsockname(descriptor, address, &place.length) != 0) fail_at("getsockname");
    return descriptor;
}

std::string text_of(const RankAddress& place) {
    char host[NI_MAXHOST] = "?";
    char port[NI_MAXSERV] = "?";
    getnameinfo(reinterpret_cast<const sockaddr*>(&place.address), place.length, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    return fmt::format("{} port {}", host, port);
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

// connect(), which continues after an interruption.
bool connected(int descriptor, const RankAddress& place) {
    if (connect(descriptor, reinterpret_cast<const sockaddr*>(&place.address), place.length) == 0)
        return true;
    if (errno != EINTR) return false;
    const double deadline = now() + connect_limit_seconds;
    pollfd ready{descriptor, POLLOUT, 0};
    int found = -1;
    while (found < 0 && now() < deadline) {
        found = poll(&ready, 1, static_cast<int>(std::max(0.0, deadline - now()) * 1000));
    }
    int error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (found > 0) getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    return error == 0;
}

// Whole messages over a blocking connection. Throw Error (link) when the peer is gone.
void send_all(int descriptor, const void* bytes, std::size_t length) {
    const char* at = static_cast<const char*>(bytes);
    while (length > 0) {
        const ssize_t sent = send(descriptor, at, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) fail_at("send");
        at += sent;
        length -= static_cast<std::size_t>(sent);
    }
}

void receive_all(int descriptor, void* bytes, std::size_t length) {
    char* at = static_cast<char*>(bytes);
    while (length > 0) {
        const ssize_t received = recv(descriptor, at, length, MSG_WAITALL);
        if (received < 0 && errno == EINTR) continue;
        if (received == 0) errno = ECONNRESET;
        if (received <= 0) fail_at("recv");
        at += received;
        length -= static_cast<std::size_t>(received);
    }
}

int connect_to(const RankAddress& place, int peer, const Hello& hello) {
    const int descriptor = socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fail_at("socket");
    // The sending limit also applies to connect(); all ranks listen already.
    const timeval limit{static_cast<time_t>(connect_limit_seconds), 0};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (!connected(descriptor, place)) {
        fail_at(fmt::format("cannot connect to rank {} at {}", peer, text_of(place)));
    }
    const timeval none{};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    send_all(descriptor, &hello, sizeof hello);
    return descriptor;
}

// The next connection from a rank of this job, and its hello. Other connections are closed.
int accept_next(int listener, const Hello& own, Hello& hello) {
    const double deadline = now() + connect_limit_seconds;
    while (readable_within(listener, deadline - now())) {
        const int descriptor = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (descriptor < 0) {
            if (errno == EMFILE || errno == ENFILE) fail_at("accept; raise `ulimit -n`");
            continue;
        }
        const timeval limit{hello_limit_milliseconds / 1000, 0};
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        std::size_t length = 0;
        while (length < sizeof hello) {
            const ssize_t more =
                recv(descriptor, reinterpret_cast<char*>(&hello) + length, sizeof hello - length, 0);
            if (more > 0)
                length += static_cast<std::size_t>(more);
            else if (more == 0 || errno != EINTR)
                break;
        }
        const timeval none{};
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
        if (length == sizeof hello && hello.token == own.token) return descriptor;
        close(descriptor);
    }
    throw Error(ErrorCode::link, fmt::format("not all ranks connected to rank {} within {} seconds", own.rank,
                                             connect_limit_seconds));
}

std::vector<int> connect_all(const std::vector<RankAddress>& addresses, int listener, const Hello& own) {
    const int ranks = static_cast<int>(addresses.size());
    std::vector<int> peers(addresses.size(), -1);
    for (int peer = 0; peer < own.rank; ++peer) {
        const auto slot = static_cast<std::size_t>(peer);
        peers[slot] = connect_to(addresses[slot], peer, own);
    }
    for (int left = ranks - 1 - own.rank; left > 0; --left) {
        Hello hello;
        const int descriptor = accept_next(listener, own, hello);
        if (hello.rank <= own.rank || hello.rank >= ranks) {
            throw Error(ErrorCode::link, fmt::format("rank {} received an invalid hello", own.rank));
        }
        peers[static_cast<std::size_t>(hello.rank)] = descriptor;
    }
    for (const int descriptor : peers) {
        const int on = 1;
        if (descriptor >= 0) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return peers;
}

}  // namespace

Mesh::Mesh(MPI_Comm communicator, const std::string& interface) {
    MPI_Comm_rank(communicator, &rank_);
    MPI_Comm_size(communicator, &ranks_);
    RankAddress own = own_place(interface);
    const int listener = listen_at(own, ranks_);
    address_ = text_of(own);
    address_ = address_.substr(0, address_.find(' '));

    Hello hello;
    hello.rank = rank_;
    if (rank_ == 0 && getrandom(hello.token.data(), hello.token.size(), 0) < 0) fail_at("getrandom");
    MPI_Bcast(hello.token.data(), static_cast<int>(hello.token.size()), MPI_BYTE, 0, communicator);
    std::vector<RankAddress> addresses(static_cast<std::size_t>(ranks_));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, addresses.data(), sizeof own, MPI_BYTE, communicator);
    peers_ = connect_all(addresses, listener, hello);
    close(listener);
}

Mesh::~Mesh() {
    for (const int descriptor : peers_) {
        if (descriptor >= 0) close(descriptor);
    }
}

void Mesh::sleeping_barrier() {
    barrier(true);
}

void Mesh::yielding_barrier() {
    barrier(false);
}

// Dissemination: the distance to the peer doubles in each step.
void Mesh::barrier(bool sleep) {
    for (int distance = 1; distance < ranks_; distance *= 2) {
        const int after = peers_[static_cast<std::size_t>((rank_ + distance) % ranks_)];
        const int before = peers_[static_cast<std::size_t>((rank_ - distance + ranks_) % ranks_)];
        char byte = 0;
        send_all(after, &byte, 1);
        while (sleep && !readable_within(before, 1)) continue;
        while (!sleep) {
            const ssize_t received = recv(before, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
            if (received >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) break;
            sched_yield();
        }
        receive_all(before, &byte, 1);
    }
}

}  // namespace lapwing::bench
