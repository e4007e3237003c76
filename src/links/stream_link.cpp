#include "links/stream_link.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lapwing {
namespace {

constexpr std::uint64_t wakeup_mark = UINT64_MAX;
constexpr std::uint64_t most_at_once = 1U << 30;  // bytes of one system call

[[noreturn]] void refuse(const char* what) {
    throw Error(ErrorCode::system, fmt::format("{}: {}", what, std::strerror(errno)));
}

template <typename Entry>
Entry take_first(std::vector<Entry>& entries) {
    const Entry first = entries.front();
    entries.erase(entries.begin());
    return first;
}

}  // namespace

StreamLink::StreamLink(Connections& connections, int ranks)
    : connections_(connections), peers_(static_cast<std::size_t>(ranks)) {
    const int wakeup = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakeup < 0) refuse("eventfd");
    wakeup_ = std::shared_ptr<const int>(new int(wakeup), [](const int* descriptor) {
        ::close(*descriptor);
        delete descriptor;
    });
    poller_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (poller_ < 0) refuse("epoll_create");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = wakeup_mark;
    if (::epoll_ctl(poller_, EPOLL_CTL_ADD, wakeup, &event) != 0) {
        ::close(poller_);
        refuse("epoll_ctl");
    }
    connections_.on_change([ring = wakeup_] {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(*ring, &one, sizeof one));
    });
}

StreamLink::~StreamLink() {
    connections_.on_change({});
    ::close(poller_);
}

StreamLink::Message& StreamLink::take(int peer, std::uint64_t bytes, Transfer& transfer) {
    if (!broken_.empty()) throw Error(ErrorCode::link, broken_);
    want(peer);
    if (idle_.empty()) {
        messages_.push_back(std::make_unique<Message>());
        idle_.push_back(messages_.back().get());
    }
    Message* const message = idle_.back();
    idle_.pop_back();
    *message = {};
    message->peer = peer;
    message->bytes = bytes;
    transfer = {reinterpret_cast<std::uintptr_t>(message), true};
    ++peer_of(peer).under_way;
    return *message;
}

void StreamLink::complete(Message& message) {
    message.complete = true;
    --peer_of(message.peer).under_way;
}

void StreamLink::send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    Message& message = take(peer, bytes, transfer);
    message.source = data;
    Peer& to = peer_of(peer);
    if (bytes <= eager_limit) {
        to.output.push_back({{Kind::eager, channel, bytes}, &message, 0});
    } else {
        to.channels[channel].offered.push_back(&message);
        to.output.push_back({{Kind::request_to_send, channel, bytes}, nullptr, 0});
    }
    if (to.ended) ended(peer, to.error);
    write(peer);
}

void StreamLink::recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) {
    Message& message = take(peer, bytes, transfer);
    message.target = data;
    Peer& from = peer_of(peer);
    Channel& queue = from.channels[channel];
    // A message that has come already, and is not another receive's.
    const auto free = std::find_if(queue.early.begin(), queue.early.end(),
                                   [](const auto& early) { return early->message == nullptr; });
    if (free == queue.early.end()) {
        queue.posted.push_back(&message);
        if (from.ended) ended(peer, from.error);
        return;
    }
    meet(peer, channel, message, *free);
    write(peer);
}

// A receive finds what has come before it.
void StreamLink::meet(int peer, std::uint32_t channel, Message& message,
                      const std::shared_ptr<Early>& early) {
    Channel& queue = peer_of(peer).channels[channel];
    check_length(peer, message, early->bytes);
    if (early->offered) {
        queue.granted.push_back(&message);
        peer_of(peer).output.push_back({{Kind::clear_to_send, channel, message.bytes}, nullptr, 0});
    } else if (!early->complete) {
        early->message = &message;
        return;  // the rest of it is still to be read
    } else {
        if (message.bytes > 0) std::memcpy(message.target, early->data.get(), message.bytes);
        complete(message);
    }
    std::erase(queue.early, std::shared_ptr<Early>(early));
    forget_channel(peer_of(peer), channel);
}

void StreamLink::check_length(int peer, const Message& message, std::uint64_t bytes) {
    if (message.bytes == bytes) return;
    fail(fmt::format(
        "{} has sent {} bytes where {} are expected: the arguments of a collective differ, or its "
        "place in the order",
        connections_.describe(peer), bytes, message.bytes));
}

bool StreamLink::test(Transfer& transfer) {
    if (!transfer.active) return true;
    auto* const message = reinterpret_cast<Message*>(transfer.handle);
    if (!message->complete) progress();
    if (!message->complete) return false;
    idle_.push_back(message);
    transfer = {};
    return true;
}

void StreamLink::want(int peer) {
    Peer& wanted = peer_of(peer);
    if (wanted.wanted) return;
    wanted.wanted = true;
    connections_.want(peer, 0);
    if (!connect(peer)) unmade_.push_back(peer);
}

bool StreamLink::connect(int peer) {
    Peer& made = peer_of(peer);
    try {
        made.descriptor = connections_.descriptor(peer, 0);
    } catch (const Error& error) {
        fail(error.what());
    }
    if (made.descriptor < 0) return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(peer);
    if (::epoll_ctl(poller_, EPOLL_CTL_ADD, made.descriptor, &event) != 0)
        fail(fmt::format("epoll_ctl: {}", std::strerror(errno)));
    return true;
}

void StreamLink::watch(int peer) {
    Peer& at = peer_of(peer);
    const bool waits = !at.output.empty();
    if (at.waits_to_write == waits || at.descriptor < 0 || at.ended) return;
    at.waits_to_write = waits;
    epoll_event event{};
    event.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(peer);
    if (::epoll_ctl(poller_, EPOLL_CTL_MOD, at.descriptor, &event) != 0)
        fail(fmt::format("epoll_ctl: {}", std::strerror(errno)));
}

void StreamLink::write(int peer) {
    Peer& to = peer_of(peer);
    if (to.descriptor < 0 || to.ended) return;
    while (!to.output.empty()) {
        Frame& frame = to.output.front();
        const std::uint64_t bytes = frame.message == nullptr ? 0 : frame.message->bytes;
        iovec pieces[2];
        std::size_t count = 0;
        std::uint64_t at = frame.written;
        if (at < sizeof(Header)) {
            pieces[count++] = {reinterpret_cast<char*>(&frame.header) + at, sizeof(Header) - at};
            at = sizeof(Header);
        }
        if (bytes > at - sizeof(Header)) {
            const std::uint64_t from = at - sizeof(Header);
            pieces[count++] = {const_cast<std::byte*>(frame.message->source + from),
                               std::min(bytes - from, most_at_once)};
        }
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = count;
        const ssize_t written = ::sendmsg(to.descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) break;
            return ended(peer, errno);
        }
        frame.written += static_cast<std::uint64_t>(written);
        if (frame.written < sizeof(Header) + bytes) continue;
        if (frame.message != nullptr) complete(*frame.message);
        to.output.pop_front();
    }
    watch(peer);
}

void StreamLink::read(int peer) {
    Peer& from = peer_of(peer);
    // A fast peer must not keep the others from being read.
    constexpr std::uint64_t turn = 1U << 20;
    for (std::uint64_t sum = 0; sum < turn && !from.ended;) {
        const bool in_header = from.header_read < sizeof(Header);
        void* const target =
            in_header ? static_cast<void*>(reinterpret_cast<char*>(&from.header) + from.header_read)
                      : static_cast<void*>(from.target);
        const std::uint64_t wanted = in_header ? sizeof(Header) - from.header_read : from.left;
        const ssize_t count = ::recv(from.descriptor, target, std::min(wanted, most_at_once), MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (count <= 0) return ended(peer, count == 0 ? ECONNRESET : errno);
        sum += static_cast<std::uint64_t>(count);
        if (in_header) {
            from.header_read += static_cast<std::uint64_t>(count);
            if (from.header_read == sizeof(Header)) take_header(peer);
        } else {
            from.target += count;
            from.left -= static_cast<std::uint64_t>(count);
            if (from.left == 0) end_of_bytes(peer);
        }
    }
    write(peer);
}

void StreamLink::take_header(int peer) {
    Peer& from = peer_of(peer);
    const Header header = from.header;
    const auto nonsense = [&] {
        fail(fmt::format("{} sends what is no message of this version of Lapwing",
                         connections_.describe(peer)));
    };
    Channel& queue = from.channels[header.channel];
    from.message = nullptr;
    from.early = nullptr;
    from.target = nullptr;
    from.left = 0;
    switch (header.kind) {
        case Kind::eager:
        case Kind::request_to_send: {
            const bool whole = header.kind == Kind::eager;
            if (whole != (header.bytes <= eager_limit)) nonsense();
            if (!queue.posted.empty()) {
                Message& message = *take_first(queue.posted);
                check_length(peer, message, header.bytes);
                if (whole) {
                    from.message = &message;
                    from.target = message.target;
                    from.left = header.bytes;
                } else {
                    queue.granted.push_back(&message);
                    from.output.push_back({{Kind::clear_to_send, header.channel, header.bytes}, nullptr, 0});
                }
                break;
            }
            auto early = std::make_shared<Early>();
            early->bytes = header.bytes;
            early->offered = !whole;
            queue.early.push_back(early);
            if (!whole) break;
            early->data.reset(new std::byte[header.bytes]);
            from.early = early;
            from.target = early->data.get();
            from.left = header.bytes;
            break;
        }
        case Kind::clear_to_send: {
            if (queue.offered.empty()) nonsense();
            Message& message = *take_first(queue.offered);
            if (message.bytes != header.bytes) nonsense();
            from.output.push_back({{Kind::data, header.channel, message.bytes}, &message, 0});
            break;
        }
        case Kind::data: {
            if (queue.granted.empty()) nonsense();
            Message& message = *take_first(queue.granted);
            if (message.bytes != header.bytes) nonsense();
            from.message = &message;
            from.target = message.target;
            from.left = header.bytes;
            break;
        }
        default:
            nonsense();
    }
    if (from.left == 0) end_of_bytes(peer);
}

// All that belongs to a header has been read.
void StreamLink::end_of_bytes(int peer) {
    Peer& from = peer_of(peer);
    from.header_read = 0;
    if (from.message != nullptr) complete(*from.message);
    const std::shared_ptr<Early> early = std::move(from.early);
    from.message = nullptr;
    from.early = nullptr;
    if (early != nullptr) {
        early->complete = true;
        if (early->message != nullptr) meet(peer, from.header.channel, *early->message, early);
    }
    forget_channel(from, from.header.channel);
}

// A channel that is idle costs nothing.
void StreamLink::forget_channel(Peer& peer, std::uint32_t channel) {
    const auto found = peer.channels.find(channel);
    if (found != peer.channels.end() && found->second.empty()) peer.channels.erase(found);
}

// No error, as long as nothing is wanted from it: a rank may leave when it has done its part.
void StreamLink::ended(int peer, int error) {
    Peer& gone = peer_of(peer);
    if (!gone.ended) {
        gone.ended = true;
        gone.error = error;
        ::epoll_ctl(poller_, EPOLL_CTL_DEL, gone.descriptor, nullptr);
    }
    if (gone.under_way > 0) fail(why_broken(connections_, peer, error));
}

void StreamLink::progress() {
    if (!broken_.empty()) throw Error(ErrorCode::link, broken_);
    epoll_event events[64];
    const int count = ::epoll_wait(poller_, events, 64, 0);
    for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 != wakeup_mark) {
            const int peer = static_cast<int>(events[i].data.u64);
            if (events[i].events & EPOLLOUT) write(peer);
            if (events[i].events & ~static_cast<unsigned>(EPOLLOUT)) read(peer);
            continue;
        }
        std::uint64_t rings = 0;
        static_cast<void>(!::read(*wakeup_, &rings, sizeof rings));
        const std::vector<int> awaited = std::move(unmade_);
        unmade_.clear();
        for (const int peer : awaited) {
            if (connect(peer))
                write(peer);
            else
                unmade_.push_back(peer);
        }
    }
}

void StreamLink::fail(const std::string& why) {
    if (broken_.empty()) {
        broken_ = why;
        connections_.give_up(why);
    }
    throw Error(ErrorCode::link, broken_);
}

}  // namespace lapwing
