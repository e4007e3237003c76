#include "links/tcp/connector.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "links/tcp/addresses.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tcp {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds connect_limit{2000};  // for one address
constexpr milliseconds first_pause{10};      // before the addresses are tried again
constexpr milliseconds longest_pause{1000};
constexpr milliseconds descriptor_limit{1000};  // descriptors may become free

bool is_outage(int error) {
    return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN;
}

}  // namespace

struct Connector::Attempt {
    std::shared_ptr<ConnectionTable> table;
    int peer = 0;
    int lane = 0;
    std::vector<IpAddress> ips;
    std::size_t ip = 0;  // that is being tried
    Socket socket;
    std::optional<Handshake> handshake;  // once the socket is connected
    unsigned step = 0;                   // a timer of an earlier step does nothing
    EventLoop::Timer timer;              // of this step
    unsigned waits = 0;                  // epoll events
    milliseconds pause = first_pause;
    Clock::time_point begin = Clock::now();
    // Ends of the last rounds without these, or the beginning.
    Clock::time_point not_refused = begin;
    Clock::time_point not_starved = begin;
    bool refused = false;              // in this round an address answered, and not as the peer would
    bool starved = false;              // in this round no descriptor was free
    std::vector<std::string> reasons;  // by address, of the last round
};

Connector::Connector(EventLoop& event_loop, const Job& job) : event_loop_(event_loop), job_(job) {}
Connector::~Connector() = default;

void Connector::connect(const std::shared_ptr<ConnectionTable>& table, int peer, int lane) {
    auto attempt = std::make_shared<Attempt>();
    attempt->table = table;
    attempt->peer = peer;
    attempt->lane = lane;
    const int member = table->member(peer);
    attempt->ips = routes(job_.own, job_.members[static_cast<std::size_t>(member)]);
    const auto good = last_good_.find(member);
    if (good != last_good_.end())
        std::stable_partition(attempt->ips.begin(), attempt->ips.end(),
                              [&](const IpAddress& ip) { return same_address(ip, good->second); });
    attempts_.insert(attempt);
    next_ip(attempt);
}

void Connector::drop_closed() {
    std::vector<Shared> closed;
    for (const Shared& attempt : attempts_)
        if (attempt->table->closed()) closed.push_back(attempt);
    for (const Shared& attempt : closed) cancelled(attempt);
}

// Ends an attempt whose group is closed.
bool Connector::cancelled(const Shared& attempt) {
    if (!attempt->table->closed()) return false;
    close_attempt(*attempt);
    end(attempt);
    return true;
}

// The timer would keep the memory of each connection for seconds.
void Connector::end(const Shared& attempt) {
    event_loop_.cancel(attempt->timer);
    attempts_.erase(attempt);
}

void Connector::close_attempt(Attempt& attempt) {
    if (attempt.socket) event_loop_.forget(attempt.socket.get());
    attempt.socket.reset();
    attempt.handshake.reset();
    ++attempt.step;
}

void Connector::after(const Shared& attempt, milliseconds delay, void (Connector::*work)(const Shared&)) {
    const unsigned step = ++attempt->step;
    event_loop_.cancel(attempt->timer);
    attempt->timer = event_loop_.post_after(delay, [this, weak = std::weak_ptr(attempt), step, work] {
        const Shared alive = weak.lock();
        if (alive && alive->step == step) (this->*work)(alive);
    });
}

void Connector::next_ip(const Shared& attempt) {
    if (cancelled(attempt)) return;
    if (attempt->ip == 0) attempt->reasons.clear();
    if (attempt->ip == attempt->ips.size()) return round_failed(attempt);
    const IpAddress& ip = attempt->ips[attempt->ip];
    const Address& peer = job_.members[static_cast<std::size_t>(attempt->table->member(attempt->peer))];
    sockaddr_storage address{};
    const socklen_t size = socket_address(ip, peer.port, address);
    attempt->socket = make_socket(address.ss_family);
    if (!attempt->socket) {
        attempt->starved = out_of_descriptors(errno);
        return ip_failed(attempt, describe_error(errno), false);
    }
    const int descriptor = attempt->socket.get();
    set_buffers(descriptor, job_.options);
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0)
        return connected(attempt);
    if (errno != EINPROGRESS && errno != EINTR)
        return ip_failed(attempt, describe_error(errno), is_outage(errno));
    after(attempt, connect_limit, &Connector::too_late);
    event_loop_.watch(descriptor, EPOLLOUT, [this, weak = std::weak_ptr(attempt)](unsigned) {
        const Shared alive = weak.lock();
        if (!alive || cancelled(alive)) return;
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(alive->socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) return ip_failed(alive, describe_error(error), is_outage(error));
        connected(alive);
    });
}

void Connector::connected(const Shared& attempt) {
    set_alive(attempt->socket.get(), job_.options);
    Claim claim;
    claim.group = attempt->table->group();
    claim.from = static_cast<std::uint32_t>(attempt->table->own_member());
    claim.to = static_cast<std::uint32_t>(attempt->table->member(attempt->peer));
    claim.lane = static_cast<std::uint32_t>(attempt->lane);
    attempt->handshake = Handshake::connecting(job_.key, claim, random_nonce());
    after(attempt, job_.options.handshake, &Connector::too_late);
    attempt->waits = 0;
    advance_handshake(attempt);
}

void Connector::advance_handshake(const Shared& attempt) {
    if (cancelled(attempt)) return;
    const std::string why = advance(attempt->socket.get(), *attempt->handshake);
    if (!why.empty()) return ip_failed(attempt, why, false);
    if (!attempt->handshake->done()) {
        const unsigned events = attempt->handshake->output().empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
        if (events == attempt->waits) return;
        attempt->waits = events;
        return event_loop_.watch(attempt->socket.get(), events,
                                 [this, weak = std::weak_ptr(attempt)](unsigned) {
                                     if (const Shared alive = weak.lock()) advance_handshake(alive);
                                 });
    }
    event_loop_.forget(attempt->socket.get());
    ConnectionTable& table = *attempt->table;
    const int member = table.member(attempt->peer);
    const IpAddress& ip = attempt->ips[attempt->ip];
    if (table.take_in(member, attempt->lane, attempt->socket.get(), text(ip))) {
        attempt->socket.release();
        last_good_[member] = ip;
        table.tell();
    }
    end(attempt);
}

void Connector::too_late(const Shared& attempt) {
    if (cancelled(attempt)) return;
    if (!attempt->handshake)
        return ip_failed(attempt, fmt::format("no answer within {} s", connect_limit.count() / 1000), true);
    // The peer is only late: it may have admitted the connection and sent messages on it, so only the peer
    // may close it. The kernel detects the peer's end.
    if (attempt->handshake->answered()) return;
    ip_failed(
        attempt,
        fmt::format("it accepts the connection but sends nothing for {} s", job_.options.handshake.count()),
        true);
}

// `outage`: the address did not answer. The network, or a process that is stopped, may come back.
void Connector::ip_failed(const Shared& attempt, const std::string& why, bool outage) {
    close_attempt(*attempt);
    if (!outage) attempt->refused = true;
    const std::string where = text(attempt->ips[attempt->ip]);
    attempt->reasons.push_back(fmt::format("{}: {}", where, why));
    ++attempt->ip;
    next_ip(attempt);
}

void Connector::round_failed(const Shared& attempt) {
    const auto now = Clock::now();
    if (!attempt->refused) attempt->not_refused = now;
    if (!attempt->starved) attempt->not_starved = now;
    if (now - attempt->begin >= job_.options.patience || now - attempt->not_refused >= job_.options.refusal ||
        now - attempt->not_starved >= descriptor_limit || attempt->ips.empty()) {
        attempt->table->fail(attempt->peer, attempt->lane, failure(*attempt));
        const std::shared_ptr<ConnectionTable> table = attempt->table;
        end(attempt);
        return table->tell();
    }
    attempt->ip = 0;
    attempt->refused = attempt->starved = false;
    const milliseconds pause = attempt->pause;
    attempt->pause = std::min(2 * pause, longest_pause);
    after(attempt, pause, &Connector::next_ip);
}

std::string Connector::failure(const Attempt& attempt) const {
    const int rank = attempt.table->member(attempt.peer);
    const Address& peer = job_.members[static_cast<std::size_t>(rank)];
    const auto seconds = std::chrono::duration<double>(Clock::now() - attempt.begin).count();
    if (attempt.ips.empty())
        return fmt::format(
            "no connection to rank {} ({}): the two hosts have no usable addresses of one family in one "
            "network; see LAPWING_TCP_INTERFACE and LAPWING_TCP_FAMILY",
            rank, peer.name);
    std::string advice;
    if (!attempt.starved)
        advice =
            "; has the process ended, does a firewall block the port, or is it the wrong network "
            "(LAPWING_TCP_INTERFACE)?";
    return fmt::format("no connection to rank {} ({}, port {}) within {:.0f} s: {}{}", rank, peer.name,
                       peer.port, seconds, fmt::join(attempt.reasons, "; "), advice);
}

}  // namespace lapwing::tcp
