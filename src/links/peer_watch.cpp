#include "links/peer_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "links/tcp/addresses.hpp"

namespace lapwing {
namespace {

// Of more peers some are asked, and others after a while: the program needs its descriptors.
constexpr std::size_t max_connections = 32;
constexpr unsigned rounds_of_each = 4;

constexpr const char* process_ended = "its process has ended";

// Exact to a few milliseconds. Called for each test of an incomplete message: the exact clock would cost 2 %
// of a short message inside a host.
std::chrono::nanoseconds coarse_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

PeerWatch::PeerWatch(const tcp::Options* internet) {
    if (internet == nullptr) return;
    options_ = *internet;
    const std::vector<tcp::IpAddress> ips = tcp::choose(options_, tcp::interfaces());
    listeners_ = tcp::listen_on(ips, options_, own_.port);
    std::ranges::copy(ips, own_.ips);
    own_.host = tcp::host_number();
    tcp::host_name().copy(own_.name, sizeof own_.name - 1);
    reached_.insert(own_.host);
}

void PeerWatch::join(std::size_t ranks, std::vector<tcp::Address> addresses) {
    peers_ = std::vector<Peer>(ranks);
    addresses_ = std::move(addresses);
}

std::string PeerWatch::find_lost(const std::function<bool(int peer)>& asks_kernel, int& lost) {
    if (listeners_.empty() || (idle() && connections_.empty())) return "";
    const auto now = coarse_now();
    if (now - last_question_ < interval) return "";
    last_question_ = now;
    const std::vector<int> asked = some_of(slow_peers(asks_kernel));
    std::erase_if(connections_,
                  [&](const auto& one) { return std::ranges::find(asked, one.first) == asked.end(); });
    for (const int peer : asked) {
        const tcp::Address& address = addresses_[static_cast<std::size_t>(peer)];
        const auto [found, is_new] = connections_.try_emplace(peer);
        if (is_new) found->second.routes = tcp::routes(own_, address);
        const std::string why = ask(found->second, address);
        if (why.empty()) continue;
        lost = peer;
        connections_.erase(found);
        return why;
    }
    return "";
}

// The peers without a completed message since the last call: most collectives end sooner.
std::vector<int> PeerWatch::slow_peers(const std::function<bool(int peer)>& asks_kernel) {
    std::vector<int> slow;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = peers_[i];
        const bool waits = peer.waiting > 0 && asks_kernel(static_cast<int>(i));
        const bool completed = std::exchange(peer.completed, false);
        if (std::exchange(peer.was_waiting, waits) && waits && !completed)
            slow.push_back(static_cast<int>(i));
    }
    return slow;
}

std::vector<int> PeerWatch::some_of(const std::vector<int>& peers) {
    if (peers.size() <= max_connections) return peers;
    if (++rounds_ % rounds_of_each == 0) next_ += max_connections;
    std::vector<int> chosen;
    for (std::size_t i = 0; i < max_connections; ++i) chosen.push_back(peers[(next_ + i) % peers.size()]);
    return chosen;
}

std::string PeerWatch::ask(Connection& connection, const tcp::Address& peer) {
    if (!connection.socket) return connect(connection, peer);
    pollfd state{connection.socket.get(), static_cast<short>(connection.connected ? POLLIN : POLLOUT), 0};
    if (::poll(&state, 1, 0) <= 0) return "";
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(connection.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (!connection.connected) return connect_ended(connection, peer, error);
    // No bytes are ever sent on it: it is readable when the connection has ended.
    connection.socket.reset();
    if (error == 0 || error == ECONNRESET || error == EPIPE) return process_ended;
    return fmt::format("{} (no answer for LAPWING_TIMEOUT seconds)", std::strerror(error));
}

std::string PeerWatch::connect(Connection& connection, const tcp::Address& peer) {
    if (connection.routes.empty()) return "";
    sockaddr_storage address{};
    const socklen_t size = tcp::socket_address(connection.routes[connection.route % connection.routes.size()],
                                               peer.port, address);
    connection.connected = false;
    connection.socket = tcp::make_socket(address.ss_family);
    if (!connection.socket) return "";
    tcp::set_alive(connection.socket.get(), options_);
    const bool begun =
        ::connect(connection.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0;
    if (begun && errno == EINPROGRESS) return "";
    return connect_ended(connection, peer, begun ? errno : 0);
}

std::string PeerWatch::connect_ended(Connection& connection, const tcp::Address& peer, int error) {
    if (error == 0) {
        connection.connected = true;
        connection.refused = {};
        reached_.insert(peer.host);
        return "";
    }
    connection.socket.reset();
    ++connection.route;
    return error == ECONNREFUSED ? refused(connection, peer) : "";
}

// A host that was never reached may have a firewall that refuses in its place.
std::string PeerWatch::refused(Connection& connection, const tcp::Address& peer) {
    if (reached_.contains(peer.host)) return process_ended;
    const auto now = Clock::now();
    if (connection.refused == Clock::time_point()) connection.refused = now;
    return now - connection.refused >= std::min(options_.patience, options_.refusal) ? process_ended : "";
}

}  // namespace lapwing
