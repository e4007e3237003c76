#include "links/tcp/presence.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "links/tcp/addresses.hpp"

namespace lapwing::tcp {
namespace {

// Of more peers some are asked, and others after a while: the program needs its descriptors.
constexpr std::size_t max_watches = 32;
constexpr unsigned looks_at_each = 4;

constexpr const char* process_ended = "its process has ended";

}  // namespace

Presence::Presence(const Options& options) : options_(options) {
    const std::vector<IpAddress> ips = tcp::choose(options_, interfaces());
    listeners_ = listen_on(ips, options_, own_.port);
    std::copy(ips.begin(), ips.end(), own_.ips);
    own_.host = host_number();
    host_name().copy(own_.name, sizeof own_.name - 1);
    reached_.insert(own_.host);
}

void Presence::join(std::vector<Address> members) {
    members_ = std::move(members);
}

std::vector<int> Presence::choose(const std::vector<int>& peers) {
    if (peers.size() <= max_watches) return peers;
    if (++looks_ % looks_at_each == 0) next_ += max_watches;
    std::vector<int> chosen;
    for (std::size_t i = 0; i < max_watches; ++i) chosen.push_back(peers[(next_ + i) % peers.size()]);
    return chosen;
}

std::string Presence::look(const std::vector<int>& all, int& lost) {
    const std::vector<int> peers = choose(all);
    std::erase_if(watches_, [&](const auto& one) {
        return std::find(peers.begin(), peers.end(), one.first) == peers.end();
    });
    for (const int peer : peers) {
        const Address& address = members_[static_cast<std::size_t>(peer)];
        auto found = watches_.find(peer);
        if (found == watches_.end()) {
            found = watches_.emplace(peer, Watch()).first;
            found->second.routes = routes(own_, address);
        }
        const std::string why = look(found->second, address);
        if (why.empty()) continue;
        lost = peer;
        watches_.erase(found);
        return why;
    }
    return "";
}

std::string Presence::connect(Watch& watch, const Address& peer) {
    if (watch.routes.empty()) return "";
    sockaddr_storage address{};
    const socklen_t size =
        socket_address(watch.routes[watch.route % watch.routes.size()], peer.port, address);
    watch.connected = false;
    watch.socket = Socket(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!watch.socket) return "";
    set_alive(watch.socket.get(), options_);
    if (::connect(watch.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0)
        return ended(watch, peer, 0);
    return errno == EINPROGRESS ? "" : ended(watch, peer, errno);
}

// Called when the attempt to connect has ended.
std::string Presence::ended(Watch& watch, const Address& peer, int error) {
    if (error == 0) {
        watch.connected = true;
        watch.refused = {};
        reached_.insert(peer.host);
        return "";
    }
    watch.socket.reset();
    ++watch.route;
    return error == ECONNREFUSED ? refused(watch, peer) : "";
}

std::string Presence::look(Watch& watch, const Address& peer) {
    if (!watch.socket) return connect(watch, peer);
    pollfd state{watch.socket.get(), static_cast<short>(watch.connected ? POLLIN : POLLOUT), 0};
    if (::poll(&state, 1, 0) <= 0) return "";
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(watch.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (!watch.connected) return ended(watch, peer, error);
    // No bytes are ever sent on it: it is readable when the connection has ended.
    watch.socket.reset();
    if (error == 0 || error == ECONNRESET || error == EPIPE) return process_ended;
    return fmt::format("{} (no answer for LAPWING_TIMEOUT seconds)", std::strerror(error));
}

// A host that was never reached may have a firewall that refuses in its place.
std::string Presence::refused(Watch& watch, const Address& peer) {
    if (reached_.count(peer.host) != 0) return process_ended;
    const auto now = Clock::now();
    if (watch.refused == Clock::time_point()) watch.refused = now;
    return now - watch.refused >= std::min(options_.patience, options_.refusal) ? process_ended : "";
}

}  // namespace lapwing::tcp
