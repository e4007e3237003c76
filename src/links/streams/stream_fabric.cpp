#include "links/streams/stream_fabric.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/short_message.hpp"

namespace lapwing {
namespace {

constexpr std::size_t max_pieces = 32;  // of one system call
constexpr std::uint64_t wakeup_mark = UINT64_MAX;
// Headers and short messages are read together. At least so many bytes of a long message are read directly
// into its buffer.
constexpr std::uint64_t buffer_bytes = 8192;
// A fast peer must not keep this rank from reading other peers' messages, nor callers from starting
// something.
constexpr std::uint64_t max_read_at_once = 256U << 10;

template <typename Entry>
Entry take_first(std::vector<Entry>& entries) {
    const Entry first = entries.front();
    entries.erase(entries.begin());
    return first;
}

}  // namespace

StreamFabric::StreamFabric(Connections& connections, int ranks) {
    join_ranks(std::vector<Peer>(static_cast<std::size_t>(ranks)));
    connect(connections);
}

void StreamFabric::connect(Connections& connections) {
    peers_ = std::vector<PeerState>(ranks());
    buffer_.reset(new std::byte[buffer_bytes]);
    wakeup_ = std::make_shared<const Descriptor>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!*wakeup_) throw_system("eventfd");
    poller_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!poller_) throw_system("epoll_create");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = wakeup_mark;
    if (::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, wakeup_->get(), &event) != 0) throw_system("epoll_ctl");
    connections_ = &connections;
    connections.on_change([ring = wakeup_] {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(ring->get(), &one, sizeof one));
    });
}

void StreamFabric::disconnect(bool in_child) {
    if (connections_ != nullptr && !in_child) connections_->on_change({});
    connections_ = nullptr;
}

StreamFabric::~StreamFabric() {
    disconnect(false);
}

void StreamFabric::begin(FabricMessage& message) {
    Part& part = parts_.take();
    part = {&message, message.peer, message.data, message.bytes, false};
    message.parts.push_back(&part);
    PeerState& peer = peer_of(message.peer);
    ++peer.in_flight;
    want(message.peer);
    // No connection can be made: the peer is lost.
    if (message.left == 0) return complete(part);
    const ChannelKey key{message.group->number, message.channel};
    if (message.receive)
        begin_receive(part, key);
    else
        begin_send(part, key);
    if (peer.ended) close(message.peer, peer.error);
}

// The socket still needs the bytes of a send: other messages follow them.
void StreamFabric::abandon(void* part) {
    auto& abandoned = *static_cast<Part*>(part);
    const bool receive = std::exchange(abandoned.message, nullptr)->receive;
    if (!receive) return;
    abandoned.data = nullptr;
    PeerState& from = peer_of(abandoned.peer);
    if (from.receive == &abandoned) from.target = nullptr;
}

void StreamFabric::complete(Part& part) {
    --peer_of(part.peer).in_flight;
    if (part.message != nullptr) complete_part(*part.message, &part);
    parts_.release(part);
}

// Whether the message is as long as the receive. If not, the receive fails, and no later message may use its
// grant.
bool StreamFabric::has_length(Part& part, const ChannelKey& key, std::uint64_t bytes) {
    if (part.bytes == bytes) return true;
    PeerState& peer = peer_of(part.peer);
    peer.lengths_differ = true;
    if (part.granted) put_out(peer, Kind::refused, key, part.bytes);
    if (part.message != nullptr) expects(*part.message, bytes);
    complete(part);
    return false;
}

void StreamFabric::begin_send(Part& part, const ChannelKey& key) {
    PeerState& to = peer_of(part.peer);
    const int peer = part.peer;
    if (part.bytes <= max_short_bytes) {
        put_out(to, Kind::eager, key, part.bytes, &part);
        return write(peer, max_at_flush);
    }
    // The offer is sent even if the message is granted already: the receiver counts messages by their offers.
    put_out(to, Kind::request_to_send, key, part.bytes);
    Channel& queue = to.channels[key];
    const auto grant = std::ranges::find(queue.grants, part.bytes);
    if (grant == queue.grants.end()) {
        queue.offered.push_back(&part);
    } else {
        queue.grants.erase(grant);
        put_out(to, Kind::data, key, part.bytes, &part);
        forget_channel(to, key);
    }
    gather(peer);
}

void StreamFabric::begin_receive(Part& part, const ChannelKey& key) {
    PeerState& from = peer_of(part.peer);
    const int peer = part.peer;
    Channel& queue = from.channels[key];
    // A message that has arrived and that no other receive waits for.
    const auto free =
        std::ranges::find_if(queue.early, [](const auto& early) { return early->receive == nullptr; });
    if (free != queue.early.end()) {
        meet(from, key, part, std::shared_ptr<Early>(*free));
    } else {
        queue.posted.push_back(&part);
        if (part.bytes <= max_short_bytes) return;
        part.granted = true;
        put_out(from, Kind::clear_to_send, key, part.bytes);
    }
    gather(peer);
}

// A receive meets a message that has arrived before it.
void StreamFabric::meet(PeerState& peer, const ChannelKey& key, Part& receive,
                        const std::shared_ptr<Early>& early) {
    if (early->offered) {
        answer(peer, key, receive, early->bytes);
    } else if (!early->complete) {
        early->receive = &receive;
        return;  // the rest of the message is still to be read
    } else if (has_length(receive, key, early->bytes)) {
        if (receive.data != nullptr && early->bytes > 0)
            std::memcpy(receive.data, early->data.get(), early->bytes);
        complete(receive);
    }
    std::erase(peer.channels[key].early, early);
    forget_channel(peer, key);
}

// Answers an offer of so many bytes that is for this receive.
void StreamFabric::answer(PeerState& peer, const ChannelKey& key, Part& receive, std::uint64_t bytes) {
    if (!has_length(receive, key, bytes)) return put_out(peer, Kind::refused, key, bytes);
    peer.channels[key].granted.push_back(&receive);
    if (!receive.granted) put_out(peer, Kind::clear_to_send, key, bytes);
}

void StreamFabric::want(int peer) {
    PeerState& wanted = peer_of(peer);
    if (std::exchange(wanted.wanted, true)) return;
    connections_->want(peer, 0);
    wanted.awaited = !connect_to(peer);
    if (wanted.awaited) unmade_.push_back(peer);
}

// False if the connection is still being made. Loses the peer if it cannot be made.
bool StreamFabric::connect_to(int peer) {
    PeerState& made = peer_of(peer);
    try {
        made.descriptor = connections_->descriptor(peer, 0);
    } catch (const Error& error) {
        lose(peer, error.what());
        return true;
    }
    if (made.descriptor < 0) return false;
    // A start sends little of a long message: a bound for what waits in the kernel would only cost wake-ups.
    const int no_bound = 0;
    ::setsockopt(made.descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &no_bound, sizeof no_bound);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(peer);
    if (::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, made.descriptor, &event) != 0)
        lose(peer, fmt::format("epoll_ctl: {}", std::strerror(errno)));
    return true;
}

void StreamFabric::connect_awaited() {
    std::uint64_t rings = 0;
    static_cast<void>(!::read(wakeup_->get(), &rings, sizeof rings));
    for (const int peer : std::exchange(unmade_, {})) {
        PeerState& awaited = peer_of(peer);
        awaited.awaited = !is_lost(peer) && !connect_to(peer);
        if (awaited.awaited)
            unmade_.push_back(peer);
        else
            write(peer);
    }
}

// True if something was there.
bool StreamFabric::read(int peer) {
    PeerState& from = peer_of(peer);
    std::uint64_t sum = 0;
    while (sum < max_read_at_once && !from.ended) {
        const bool direct = from.left >= buffer_bytes && from.target != nullptr;
        std::byte* const target = direct ? from.target : buffer_.get();
        const std::uint64_t wanted = direct ? std::min(from.left, max_read_at_once) : buffer_bytes;
        const ssize_t count = ::recv(from.descriptor, target, wanted, MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (count <= 0) {
            close(peer, count == 0 ? ECONNRESET : errno);
            break;
        }
        const auto read = static_cast<std::uint64_t>(count);
        sum += read;
        if (direct) {
            from.target += read;
            from.left -= read;
            if (from.left == 0) end_of_message(peer);
        } else {
            take_bytes(peer, buffer_.get(), read);
        }
        // The poller reports what arrives later.
        if (read < wanted) break;
    }
    write(peer);
    return sum > 0 || from.ended;
}

void StreamFabric::take_bytes(int peer, const std::byte* bytes, std::uint64_t count) {
    PeerState& from = peer_of(peer);
    while (count > 0 && !from.ended) {
        std::uint64_t used = 0;
        if (from.header_read < sizeof(Header)) {
            used = std::min(count, sizeof(Header) - from.header_read);
            std::memcpy(reinterpret_cast<char*>(&from.header) + from.header_read, bytes, used);
            from.header_read += used;
            if (from.header_read == sizeof(Header)) take_header(peer);
        } else {
            used = std::min(count, from.left);
            if (from.target != nullptr) {
                std::memcpy(from.target, bytes, used);
                from.target += used;
            }
            from.left -= used;
            if (from.left == 0) end_of_message(peer);
        }
        bytes += used;
        count -= used;
    }
}

void StreamFabric::take_header(int peer) {
    PeerState& from = peer_of(peer);
    const ChannelKey key{from.header.group, from.header.channel};
    bool known = false;
    switch (from.header.kind) {
        case Kind::eager:
        case Kind::request_to_send:
            known = take_message(from, key);
            break;
        case Kind::clear_to_send:
        case Kind::refused:
            known = take_answer(from, key);
            break;
        case Kind::data:
            known = take_data(from, key);
            break;
    }
    if (!known) {
        lose(peer, fmt::format("unrecognized message from {}: do all ranks run the same version of Lapwing?",
                               describe(peer)));
        return close(peer, ECONNRESET);
    }
    if (from.left == 0) end_of_message(peer);
}

// The take_ functions return false for a header that no rank of this version sends.

bool StreamFabric::take_message(PeerState& from, const ChannelKey& key) {
    const std::uint64_t bytes = from.header.bytes;
    const bool offered = from.header.kind == Kind::request_to_send;
    if (offered != (bytes > max_short_bytes)) return false;
    if (!offered) from.left = bytes;
    Channel& queue = from.channels[key];
    if (!queue.posted.empty()) {
        Part& receive = *take_first(queue.posted);
        if (offered) {
            answer(from, key, receive, bytes);
        } else if (has_length(receive, key, bytes)) {
            from.receive = &receive;
            from.target = receive.data;
        }
        return true;
    }
    from.early = queue.early.emplace_back(std::make_shared<Early>());
    from.early->bytes = bytes;
    from.early->offered = offered;
    if (offered) {
        from.early = nullptr;
    } else {
        from.early->data.reset(new std::byte[bytes]);
        from.target = from.early->data.get();
    }
    return true;
}

bool StreamFabric::take_answer(PeerState& from, const ChannelKey& key) {
    const std::uint64_t bytes = from.header.bytes;
    if (bytes <= max_short_bytes) return false;
    const bool granted = from.header.kind == Kind::clear_to_send;
    Channel& queue = from.channels[key];
    const auto offer =
        std::ranges::find_if(queue.offered, [&](const Part* send) { return send->bytes == bytes; });
    if (offer != queue.offered.end()) {
        Part& send = **offer;
        queue.offered.erase(offer);
        // The receiver reports the error of a message that it refuses.
        if (granted)
            put_out(from, Kind::data, key, bytes, &send);
        else
            complete(send);
    } else if (granted) {
        queue.grants.push_back(bytes);
    } else {
        // The refused message may have left, by a grant that crossed its offer.
        const auto grant = std::ranges::find(queue.grants, bytes);
        if (grant != queue.grants.end()) queue.grants.erase(grant);
    }
    return true;
}

bool StreamFabric::take_data(PeerState& from, const ChannelKey& key) {
    from.left = from.header.bytes;
    Channel& queue = from.channels[key];
    if (!queue.granted.empty() && queue.granted.front()->bytes == from.left) {
        from.receive = take_first(queue.granted);
        from.target = from.receive->data;
        return true;
    }
    // A message that was refused after its grant: its bytes are dropped.
    return from.lengths_differ && from.left > max_short_bytes;
}

// A header and all bytes that belong to it have been read.
void StreamFabric::end_of_message(int peer) {
    PeerState& from = peer_of(peer);
    const ChannelKey key{from.header.group, from.header.channel};
    from.header_read = 0;
    from.target = nullptr;
    if (Part* const receive = std::exchange(from.receive, nullptr)) complete(*receive);
    if (const std::shared_ptr<Early> early = std::move(from.early)) {
        from.early = nullptr;
        early->complete = true;
        if (early->receive != nullptr) meet(from, key, *early->receive, early);
    }
    forget_channel(from, key);
}

// An idle channel takes no memory.
void StreamFabric::forget_channel(PeerState& peer, const ChannelKey& key) {
    const auto found = peer.channels.find(key);
    if (found != peer.channels.end() && found->second.empty()) peer.channels.erase(found);
}

// The connection has ended. No error as long as no message needs it: a rank may leave when it has done its
// part.
void StreamFabric::close(int peer, int error) {
    PeerState& gone = peer_of(peer);
    if (!gone.ended) {
        gone.ended = true;
        gone.error = error;
        if (!gone.output.empty()) --with_output_;
        gone.output.clear();
        ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, gone.descriptor, nullptr);
    }
    if (gone.in_flight > 0) lose(peer, why_broken(*connections_, peer, error));
}

bool StreamFabric::step() {
    send_gathered_locked();
    epoll_event events[64];
    const int count = ::epoll_wait(poller_.get(), events, 64, 0);
    bool moved = false;
    for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 == wakeup_mark) {
            connect_awaited();
            moved = true;
            continue;
        }
        const int peer = static_cast<int>(events[i].data.u64);
        if (events[i].events & EPOLLOUT) {
            write(peer);
            moved = true;
        }
        if (events[i].events & ~static_cast<unsigned>(EPOLLOUT)) moved = read(peer) || moved;
    }
    return moved;
}

// Output: answers before the bytes of long messages, in few system calls.

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
    if (::epoll_ctl(poller_.get(), EPOLL_CTL_MOD, at.descriptor, &event) != 0)
        lose(peer, fmt::format("epoll_ctl: {}", std::strerror(errno)));
}

}  // namespace lapwing
