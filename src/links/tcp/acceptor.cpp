#include "links/tcp/acceptor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "links/tcp/addresses.hpp"

namespace lapwing::tcp {
namespace {

using std::chrono::milliseconds;

// Connections without a valid hello, and those with one whose handshake is not complete. More of them push
// out the oldest; a member that is pushed out connects again.
constexpr std::size_t max_strangers = 128;
constexpr std::size_t max_greeted = 1024;
constexpr int at_once = 64;  // accepted before pending connections are served
constexpr milliseconds starving_pause{100};
constexpr milliseconds starving_limit{1000};
constexpr int max_log_lines = 10;  // of the log; then only their number is logged
constexpr milliseconds count_interval{10'000};

}  // namespace

Acceptor::Acceptor(EventLoop& event_loop, const Job& job, std::vector<Socket> listeners, Callbacks callbacks)
    : event_loop_(event_loop),
      job_(job),
      listeners_(std::move(listeners)),
      callbacks_(std::move(callbacks)) {}

void Acceptor::open() {
    for (const Socket& listener : listeners_)
        event_loop_.watch(listener.get(), EPOLLIN,
                          [this, descriptor = listener.get()](unsigned) { accept_from(descriptor); });
}

void Acceptor::accept_from(int listener) {
    for (int i = 0; i < at_once; ++i) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        const int accepted =
            accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (accepted >= 0) {
            starves_ = false;
            add_pending(Socket(accepted), text(address));
            continue;
        }
        const int error = errno;
        if (error == EAGAIN || error == EWOULDBLOCK) return;
        if (!out_of_descriptors(error)) continue;  // an error of that one connection
        // Without a free descriptor accept4() does not report whether a connection waits.
        pollfd waiting{listener, POLLIN, 0};
        if (poll(&waiting, 1, 0) <= 0) return;
        // A stranger makes room for a connection that may be a member's.
        if (!reject_oldest(false, "too few free descriptors")) return pause(error);
    }
}

// Stops accepting for a moment: connections keep waiting, and descriptors may become free.
void Acceptor::pause(int error) {
    const auto now = Clock::now();
    if (!std::exchange(starves_, true)) starving_ = now;
    if (now - starving_ >= starving_limit) {
        starving_ = now;
        log(describe_error(error));
        callbacks_.starved(describe_error(error));
    }
    for (const Socket& listener : listeners_) event_loop_.forget(listener.get());
    event_loop_.post_after(starving_pause, [this] { open(); });
}

void Acceptor::add_pending(Socket socket, const std::string& address) {
    set_alive(socket.get(), job_.options);
    if (pending_.size() - greeted_ >= max_strangers)
        reject_oldest(false, "too many unauthenticated connections at the same time");
    if (greeted_ >= max_greeted) reject_oldest(true, "too many connections of members at the same time");
    const std::uint64_t number = ++last_pending_;
    pending_.emplace(
        number, PendingConnection{
                    std::move(socket),
                    Handshake::accepting(job_.key, static_cast<std::uint32_t>(job_.self),
                                         static_cast<std::uint32_t>(job_.members.size()), random_nonce()),
                    address});
    pending_.at(number).timer = event_loop_.post_after(job_.options.handshake, [this, number] {
        const auto connection = pending_.find(number);
        if (connection != pending_.end())
            reject(connection,
                   fmt::format("it did not authenticate within {} s", job_.options.handshake.count()));
    });
    advance_pending(number);
}

void Acceptor::advance_pending(std::uint64_t number) {
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;
    PendingConnection& connection = found->second;
    Handshake& handshake = connection.handshake;
    const bool greeted = handshake.greeted();
    const int descriptor = connection.socket.get();
    const std::string why = advance(descriptor, handshake);
    if (!greeted && handshake.greeted()) ++greeted_;
    if (!why.empty()) {
        // The other side closed the connection: a member that freed its group, or a scan of ports. Neither
        // has an effect.
        return handshake.failure() == nullptr ? drop(found) : reject(found, why);
    }
    if (handshake.greeted()) {
        if (const char* const refused = callbacks_.refuses(handshake.claim())) return reject(found, refused);
    }
    if (!handshake.done()) {
        const unsigned events = handshake.output().empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
        if (std::exchange(connection.waits, events) != events)
            event_loop_.watch(descriptor, events, [this, number](unsigned) { advance_pending(number); });
        return;
    }
    event_loop_.forget(descriptor);
    event_loop_.cancel(connection.timer);
    PendingConnection in = std::move(connection);
    pending_.erase(found);
    --greeted_;
    callbacks_.admit(in.handshake.claim(), std::move(in.socket), in.address);
}

void Acceptor::reject(PendingConnections::iterator connection, const std::string& why) {
    const std::string line =
        fmt::format("rejected a connection from {}: {}", connection->second.address, why);
    drop(connection);
    log(line);
}

void Acceptor::drop(PendingConnections::iterator connection) {
    event_loop_.forget(connection->second.socket.get());
    event_loop_.cancel(connection->second.timer);
    if (connection->second.handshake.greeted()) --greeted_;
    pending_.erase(connection);
}

bool Acceptor::reject_oldest(bool greeted, const char* why) {
    const auto oldest = std::ranges::find_if(
        pending_, [&](const auto& connection) { return connection.second.handshake.greeted() == greeted; });
    if (oldest == pending_.end()) return false;
    reject(oldest, why);
    return true;
}

void Acceptor::log(const std::string& line) {
    if (!callbacks_.log) return;
    if (logged_ < max_log_lines) {
        ++logged_;
        return callbacks_.log(line);
    }
    if (++not_logged_ == 1) event_loop_.post_after(count_interval, [this] { log_count(); });
}

void Acceptor::log_count() {
    callbacks_.log(fmt::format("rejected {} more connections in the last {} s", not_logged_,
                               count_interval.count() / 1000));
    not_logged_ = 0;
}

}  // namespace lapwing::tcp
