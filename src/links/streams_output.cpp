// What leaves: answers before the bytes of long messages, and as few system calls as may be.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "links/streams.hpp"

namespace lapwing {
namespace {

constexpr std::size_t max_pieces = 32;  // of one system call

}  // namespace

void Streams::put_out(Peer& peer, Kind kind, const Place& place, std::uint64_t bytes, Message* message) {
    if (peer.ended) return;
    if (peer.output.empty()) ++with_output_;
    // An answer must not wait for the bytes of a long message: the peer's own would only begin after them.
    auto behind = peer.output.end();
    while (kind != Kind::data && behind != peer.output.begin() && std::prev(behind)->written == 0 &&
           std::prev(behind)->header.kind == Kind::data)
        --behind;
    peer.output.insert(behind, {{kind, std::get<1>(place), std::get<0>(place), bytes}, message, 0});
}

// For flush(): one system call takes what one start has for a peer.
void Streams::gather(int peer) {
    Peer& to = peer_of(peer);
    if (to.gathers || to.output.empty()) return;
    to.gathers = true;
    gathering_.push_back(peer);
}

void Streams::flush() {
    while (!gathering_.empty()) {
        const int peer = gathering_.back();
        gathering_.pop_back();
        peer_of(peer).gathers = false;
        write(peer, max_at_flush);
    }
}

void Streams::write(int peer, std::uint64_t most) {
    Peer& to = peer_of(peer);
    if (to.descriptor < 0 || to.ended) return;
    while (!to.output.empty()) {
        iovec pieces[max_pieces];
        std::size_t count = 0;
        std::uint64_t left = most;
        for (Frame& frame : to.output) {
            const bool is_long = frame.header.kind == Kind::data;
            if (count + 2 > max_pieces || (is_long && left == 0)) break;
            std::uint64_t at = frame.written;
            if (at < sizeof(Header)) {
                pieces[count++] = {reinterpret_cast<char*>(&frame.header) + at, sizeof(Header) - at};
                at = sizeof(Header);
            }
            const std::uint64_t from = at - sizeof(Header);
            const std::uint64_t rest = frame.bytes() - from;
            const std::uint64_t bytes = std::min(rest, is_long ? left : max_at_once);
            if (bytes > 0) pieces[count++] = {const_cast<std::byte*>(frame.message->source + from), bytes};
            if (is_long) left -= bytes;
            if (bytes < rest) break;  // what is behind it must stay there
        }
        if (count == 0) break;
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = count;
        const ssize_t written = ::sendmsg(to.descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) break;
            return ended(peer, errno);
        }
        auto taken = static_cast<std::uint64_t>(written);
        while (taken > 0) {
            Frame& frame = to.output.front();
            const std::uint64_t part = std::min(taken, sizeof(Header) + frame.bytes() - frame.written);
            if (frame.header.kind == Kind::data) most -= std::min(most, part);
            frame.written += part;
            taken -= part;
            if (frame.written < sizeof(Header) + frame.bytes()) break;
            if (frame.message != nullptr) complete(*frame.message);
            to.output.pop_front();
        }
        if (to.output.empty()) --with_output_;
    }
    watch(peer);
}

void Streams::watch(int peer) {
    Peer& at = peer_of(peer);
    const bool waits = !at.output.empty();
    if (at.waits_to_write == waits || at.descriptor < 0 || at.ended) return;
    at.waits_to_write = waits;
    epoll_event event{};
    event.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(peer);
    if (::epoll_ctl(poller_, EPOLL_CTL_MOD, at.descriptor, &event) != 0)
        lose(peer, fmt::format("epoll_ctl: {}", std::strerror(errno)));
}

}  // namespace lapwing
