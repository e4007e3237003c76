#include "links/tcp/sockets.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::tcp {
namespace {

void set(int descriptor, int level, int name, int value) {
    // Options are only improvements: without one the kernel still connects.
    static_cast<void>(setsockopt(descriptor, level, name, &value, sizeof value));
}

// One listening socket; empty if the address, or IPv6, is unavailable; errno has the reason.
Socket listen_at(const sockaddr_storage& address, socklen_t size, bool only_v6, const Options& options) {
    Socket result = make_socket(address.ss_family);
    if (!result) return {};
    if (address.ss_family == AF_INET6) set(result.get(), IPPROTO_IPV6, IPV6_V6ONLY, only_v6 ? 1 : 0);
    set_buffers(result.get(), options);
    if (bind(result.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return {};
    if (listen(result.get(), SOMAXCONN) != 0) return {};
    return result;
}

std::uint16_t port_of(const Socket& socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

[[noreturn]] void refuse(const std::string& where) {
    throw Error(ErrorCode::system, "cannot listen on {}: {}", where, describe_error(errno));
}

Socket listen_anywhere(const Options& options, std::uint16_t port) {
    IpAddress any{};  // all zero: any address
    sockaddr_storage address{};
    if (options.family != "ipv4") {
        any.family = 6;
        Socket result =
            listen_at(address, socket_address(any, port, address), options.family == "ipv6", options);
        if (result || options.family == "ipv6") return result;
        if (out_of_descriptors(errno)) return {};
    }
    any.family = 4;
    const socklen_t size = socket_address(any, port, address);
    return listen_at(address, size, false, options);
}

}  // namespace

Socket make_socket(int family) {
    return Socket(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::vector<Socket> listen_on(const std::vector<IpAddress>& ips, const Options& options,
                              std::uint16_t& port) {
    std::vector<Socket> result;
    if (options.interfaces.empty()) {
        result.push_back(listen_anywhere(options, port));
        if (!result.back()) refuse(port == 0 ? "any address" : fmt::format("port {}", port));
        port = port_of(result.back());
        return result;
    }
    // The first address gets a free port of the system's choice, which may be in use at another address.
    const int attempts = port == 0 ? 20 : 1;
    const std::uint16_t wanted = port;
    for (int attempt = 1;; ++attempt) {
        result.clear();
        port = wanted;
        for (const IpAddress& ip : ips) {
            sockaddr_storage address{};
            const socklen_t size = socket_address(ip, port, address);
            result.push_back(listen_at(address, size, true, options));
            if (result.back()) {
                port = port_of(result.back());
                continue;
            }
            if (errno != EADDRINUSE || port == 0 || attempt == attempts) refuse(text(ip));
            break;
        }
        if (result.back()) return result;
    }
}

void set_buffers(int descriptor, const Options& options) {
    if (options.unsent_bytes > 0) set(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, options.unsent_bytes);
    if (options.buffer_bytes == 0) return;
    set(descriptor, SOL_SOCKET, SO_SNDBUF, options.buffer_bytes);
    // A quarter more, because the kernel engine lets a quarter of a buffer wait in a socket until a receive
    // takes it (SO_RCVLOWAT). Without that room the window would be narrower: at 1 Gbit/s with a round trip
    // of 1 ms, exchanges of 256 KiB and 1 MiB took 3 to 8 % longer than without the mark; with it they take 4
    // to 9 % less.
    set(descriptor, SOL_SOCKET, SO_RCVBUF, options.buffer_bytes + options.buffer_bytes / 4);
}

void set_alive(int descriptor, const Options& options) {
    const auto seconds = static_cast<int>(options.patience.count());
    set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    // First probe after half of the patience; two more in case probes are lost.
    constexpr int max_seconds = 32767;  // of the kernel
    set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, std::clamp(seconds / 2, 1, max_seconds));
    set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, std::clamp(seconds / 6, 1, max_seconds));
    set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
    // While bytes are unacknowledged the kernel does not probe but retransmits, in intervals that double up
    // to this one, 15 times. TCP_USER_TIMEOUT would also end a connection whose peer is too busy to read (its
    // window is closed).
    constexpr int rto_max_ms = 44;  // TCP_RTO_MAX_MS, of Linux 6.15
    set(descriptor, IPPROTO_TCP, rto_max_ms, std::clamp(seconds * 1000 / 8, 1000, 120'000));
}

int reason_of_end(int descriptor, int error) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if ((error != ECONNRESET && error != EPIPE) ||
        ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return error;
    // A peer that closes leaves TCP_CLOSE_WAIT.
    const bool unanswered = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
    return info.tcpi_state == TCP_CLOSE && unanswered ? ETIMEDOUT : error;
}

std::string advance(int descriptor, Handshake& handshake) {
    while (true) {
        while (!handshake.output().empty()) {
            const auto out = handshake.output();
            const ssize_t count = send(descriptor, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
            if (count < 0) return std::strerror(errno);
            handshake.sent(static_cast<std::size_t>(count));
        }
        const std::size_t wanted = handshake.wanted();
        if (wanted == 0) return {};
        unsigned char bytes[256];
        const ssize_t count = recv(descriptor, bytes, std::min(wanted, sizeof bytes), MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
        if (count < 0) return std::strerror(errno);
        if (count == 0) return "it closed the connection";
        handshake.take({bytes, static_cast<std::size_t>(count)});
        if (handshake.failure() != nullptr) return handshake.failure();
    }
}

bool out_of_descriptors(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

std::string describe_error(int error) {
    if (error == EMFILE) {
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        return fmt::format(
            "no descriptor is free: the limit of this process is {}; raise `ulimit -n`, or set "
            "LAPWING_ENGINE=host",
            limit.rlim_cur);
    }
    if (error == ENFILE) return "no descriptor is free on this host: raise the sysctl fs.file-max";
    if (error == ENOBUFS || error == ENOMEM) return "the system has no memory for another connection";
    return std::strerror(error);
}

std::uint64_t free_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    std::error_code error;
    std::filesystem::directory_iterator at("/proc/self/fd", error);
    if (error.value() == EMFILE) return 0;
    // The limit is for the numbers of descriptors: larger ones, from before it was lowered, do not count.
    std::uint64_t used = 0;
    for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error))
        if (std::strtoull(at->path().filename().c_str(), nullptr, 10) < limit.rlim_cur) ++used;
    if (used > 0) --used;  // the directory itself
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

// A process may raise its limit as far as the hard one.
std::uint64_t raise_descriptor_limit(std::uint64_t by) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, before + by);
    if (limit.rlim_cur == before || setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return limit.rlim_cur - before;
}

std::uint64_t make_room_for_descriptors(std::uint64_t wanted) {
    const std::uint64_t free = free_descriptors();
    return free >= wanted || raise_descriptor_limit(wanted - free) == 0 ? free : free_descriptors();
}

}  // namespace lapwing::tcp
