// Output of StreamFabric: answers before the bytes of long messages, in few system calls.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "links/streams/stream_fabric.hpp"

namespace lapwing {
namespace {

constexpr std::size_t max_pieces = 32;  // of one system call

}  // namespace

void StreamFabric::put_out(PeerState& peer, Kind kind, const ChannelKey& key, std::uint64_t bytes,
                           Part* part) {
    if (peer.ended) return;
    if (peer.output.empty()) ++with_output_;
    // An answer must not wait for the bytes of a long message: the peer's own would only begin after them.
    auto behind = peer.output.end();
    while (kind != Kind::data && behind != peer.output.begin() && std::prev(behind)->written == 0 &&
           std::prev(behind)->header.kind == Kind::data)
        --behind;
    peer.output.insert(behind, {{kind, std::get<1>(key), std::get<0>(key), bytes}, part, 0});
}

// One system call sends what one start has for a peer.
void StreamFabric::gather(int peer) {
    PeerState& to = peer_of(peer);
    if (to.gathers || to.output.empty()) return;
    to.gathers = true;
    gathering_.push_back(peer);
}

void StreamFabric::send_gathered() {
    const auto lock = hold();
    send_gathered_locked();
}

void StreamFabric::send_gathered_locked() {
    while (!gathering_.empty()) {
        const int peer = gathering_.back();
        gathering_.pop_back();
        peer_of(peer).gathers = false;
        write(peer, max_at_flush);
    }
}

void StreamFabric::write(int peer, std::uint64_t max_long_bytes) {
    PeerState& to = peer_of(peer);
    if (to.descriptor < 0 || to.ended) return;
    while (!to.output.empty()) {
        iovec pieces[max_pieces];
        std::size_t count = 0;
        std::uint64_t left = max_long_bytes;
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
            if (bytes > 0) pieces[count++] = {frame.part->data + from, bytes};
            if (is_long) left -= bytes;
            if (bytes < rest) break;  // the frames behind it must wait
        }
        if (count == 0) break;
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = count;
        const ssize_t written = ::sendmsg(to.descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) break;
            return close(peer, errno);
        }
        auto taken = static_cast<std::uint64_t>(written);
        while (taken > 0) {
            Frame& frame = to.output.front();
            const std::uint64_t bytes = std::min(taken, sizeof(Header) + frame.bytes() - frame.written);
            if (frame.header.kind == Kind::data) max_long_bytes -= std::min(max_long_bytes, bytes);
            frame.written += bytes;
            taken -= bytes;
            if (frame.written < sizeof(Header) + frame.bytes()) break;
            if (frame.part != nullptr) complete(*frame.part);
            to.output.pop_front();
        }
        if (to.output.empty()) --with_output_;
    }
    watch_output(peer);
}

void StreamFabric::watch_output(int peer) {
    PeerState& at = peer_of(peer);
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
