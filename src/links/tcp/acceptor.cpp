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

// Connections that have not said a sound hello, and those that have but are not done: more of them push the
// oldest out. A member that is pushed out comes again.
constexpr std::size_t max_strangers = 128;
constexpr std::size_t max_greeted = 1024;
constexpr int at_once = 64;  // accepted before those that are there are served
constexpr milliseconds starving_pause{100};
constexpr milliseconds starving_limit{1000};
constexpr int lines_said = 10;  // then only how many there were
constexpr milliseconds count_said{10'000};

}  // namespace

Acceptor::Acceptor(EventLoop& event_loop, const Job& job, std::vector<Socket> listeners, Callbacks callbacks)
    : event_loop_(event_loop),
      job_(job),
      listeners_(std::move(listeners)),
      callbacks_(std::move(callbacks)) {}

void Acceptor::open() {
    watch_doors();
}

void Acceptor::watch_doors() {
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
            let_wait(Socket(accepted), text(address));
            continue;
        }
        const int error = errno;
        if (error == EAGAIN || error == EWOULDBLOCK) return;
        if (!out_of_descriptors(error)) continue;  // of that one connection: it is gone
        // Without a free descriptor the system does not say whether there is anybody at all.
        pollfd door{listener, POLLIN, 0};
        if (poll(&door, 1, 0) <= 0) return;
        // A stranger makes room for whoever may be a member.
        if (!turn_oldest_away(false, "descriptors are short")) return pause(error);
    }
}

// Stops to accept for a moment: whoever waits at the door keeps waiting, and descriptors may become free.
void Acceptor::pause(int error) {
    const auto now = Clock::now();
    if (!std::exchange(starves_, true)) starving_ = now;
    if (now - starving_ >= starving_limit) {
        starving_ = now;
        say(told(error));
        callbacks_.starved(told(error));
    }
    for (const Socket& listener : listeners_) event_loop_.forget(listener.get());
    event_loop_.post_after(starving_pause, [this] { watch_doors(); });
}

void Acceptor::let_wait(Socket socket, const std::string& address) {
    set_alive(socket.get(), job_.options);
    if (pending_.size() - greeted_ >= max_strangers) turn_oldest_away(false, "too many strangers at once");
    if (greeted_ >= max_greeted) turn_oldest_away(true, "too many members at once");
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
            turn_away(connection,
                      fmt::format("it did not prove itself within {} s", job_.options.handshake.count()));
    });
    go_on(number);
}

void Acceptor::go_on(std::uint64_t number) {
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;
    PendingConnection& connection = found->second;
    Handshake& handshake = connection.handshake;
    const bool greeted = handshake.greeted();
    const int descriptor = connection.socket.get();
    const std::string why = advance(descriptor, handshake);
    if (!greeted && handshake.greeted()) ++greeted_;
    if (!why.empty()) {
        // A member may have given the connection up; that is its own affair.
        const bool gone = handshake.greeted() && handshake.failure() == nullptr;
        return gone ? let_go(found) : turn_away(found, why);
    }
    if (handshake.greeted()) {
        if (const char* const refused = callbacks_.refuses(handshake.claim()))
            return turn_away(found, refused);
    }
    if (!handshake.done()) {
        const unsigned events = handshake.output().empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
        if (std::exchange(connection.waits, events) != events)
            event_loop_.watch(descriptor, events, [this, number](unsigned) { go_on(number); });
        return;
    }
    event_loop_.forget(descriptor);
    event_loop_.cancel(connection.timer);
    PendingConnection in = std::move(connection);
    pending_.erase(found);
    --greeted_;
    callbacks_.take_in(in.handshake.claim(), std::move(in.socket), in.address);
}

void Acceptor::turn_away(PendingConnections::iterator connection, const std::string& why) {
    const std::string line = fmt::format("turned away {}: {}", connection->second.address, why);
    let_go(connection);
    say(line);
}

void Acceptor::let_go(PendingConnections::iterator connection) {
    event_loop_.forget(connection->second.socket.get());
    event_loop_.cancel(connection->second.timer);
    if (connection->second.handshake.greeted()) --greeted_;
    pending_.erase(connection);
}

bool Acceptor::turn_oldest_away(bool greeted, const char* why) {
    const auto oldest = std::find_if(pending_.begin(), pending_.end(), [&](const auto& connection) {
        return connection.second.handshake.greeted() == greeted;
    });
    if (oldest == pending_.end()) return false;
    turn_away(oldest, why);
    return true;
}

void Acceptor::say(const std::string& line) {
    if (!callbacks_.log) return;
    if (said_ < lines_said) {
        ++said_;
        return callbacks_.log(line);
    }
    if (++unsaid_ == 1) event_loop_.post_after(count_said, [this] { say_how_many(); });
}

void Acceptor::say_how_many() {
    callbacks_.log(fmt::format("turned away {} more in the last {} s", unsaid_, count_said.count() / 1000));
    unsaid_ = 0;
}

}  // namespace lapwing::tcp
