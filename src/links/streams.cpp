#include "links/streams.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lapwing {
namespace {

constexpr std::uint64_t wakeup_mark = UINT64_MAX;
// Headers and short messages are read together; so many bytes of a long one go to their place directly.
constexpr std::uint64_t buffer_bytes = 8192;
// A fast peer must not keep the others from being read, nor callers from starting something.
constexpr std::uint64_t turn = 256U << 10;

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

Streams::Streams(Connections& connections, int ranks)
    : connections_(connections),
      peers_(static_cast<std::size_t>(ranks)),
      buffer_(new std::byte[buffer_bytes]) {
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

Streams::~Streams() {
    connections_.on_change({});
    ::close(poller_);
}

Streams::Message& Streams::take(int peer, std::uint64_t bytes) {
    want(peer);
    Message& message = messages_.take();
    message = {};
    message.peer = peer;
    message.bytes = bytes;
    ++peer_of(peer).under_way;
    return message;
}

void Streams::complete(Message& message) {
    message.complete = true;
    ++completed_;
    --peer_of(message.peer).under_way;
}

// Whether what has been sent is as long as the receive; if not, that has failed.
bool Streams::has_length(Message& message, std::uint64_t bytes) {
    if (message.bytes == bytes) return true;
    message.code = bytes > message.bytes ? ErrorCode::truncated : ErrorCode::link;
    message.failure = fmt::format(
        "{} has sent {} bytes where {} are expected: the arguments of a collective differ, or its "
        "place in the order",
        connections_.describe(message.peer), bytes, message.bytes);
    if (trouble_.empty()) trouble_ = message.failure;
    peer_of(message.peer).differs = true;
    complete(message);
    return false;
}

Streams::Message& Streams::send(int peer, std::uint64_t group, std::uint32_t channel, const std::byte* data,
                                std::uint64_t bytes) {
    Message& message = take(peer, bytes);
    message.source = data;
    Peer& to = peer_of(peer);
    const Place place{group, channel};
    if (bytes <= max_short_bytes) {
        put_out(to, Kind::eager, place, bytes, &message);
        write(peer, max_at_flush);
    } else {
        // The offer goes in any case: by its place among the messages the receiver knows which this is.
        put_out(to, Kind::request_to_send, place, bytes);
        Channel& queue = to.channels[place];
        const auto grant = std::find(queue.grants.begin(), queue.grants.end(), bytes);
        if (grant == queue.grants.end()) {
            queue.offered.push_back(&message);
        } else {
            queue.grants.erase(grant);
            put_out(to, Kind::data, place, bytes, &message);
            forget_channel(to, place);
        }
        gather(peer);
    }
    if (to.ended) ended(peer, to.error);
    return message;
}

Streams::Message& Streams::recv(int peer, std::uint64_t group, std::uint32_t channel, std::byte* data,
                                std::uint64_t bytes) {
    Message& message = take(peer, bytes);
    message.target = data;
    Peer& from = peer_of(peer);
    const Place place{group, channel};
    Channel& queue = from.channels[place];
    // A message that has come already, and is not another receive's.
    const auto free = std::find_if(queue.early.begin(), queue.early.end(),
                                   [](const auto& early) { return early->message == nullptr; });
    if (free == queue.early.end()) {
        queue.posted.push_back(&message);
        if (bytes > max_short_bytes) {
            message.granted = true;
            put_out(from, Kind::clear_to_send, place, bytes);
            gather(peer);
        }
    } else {
        meet(from, place, message, std::shared_ptr<Early>(*free));
        gather(peer);
    }
    if (from.ended) ended(peer, from.error);
    return message;
}

// A receive finds what has come before it.
void Streams::meet(Peer& peer, const Place& place, Message& message, const std::shared_ptr<Early>& early) {
    if (early->offered) {
        answer(peer, place, message, early->bytes);
    } else if (!early->complete) {
        early->message = &message;
        return;  // the rest of it is still to be read
    } else if (has_length(message, early->bytes)) {
        if (message.bytes > 0) std::memcpy(message.target, early->data.get(), message.bytes);
        complete(message);
    }
    std::erase(peer.channels[place].early, early);
    forget_channel(peer, place);
}

// A receive that has granted fails: no later message shall have its grant.
void Streams::withdraw(Peer& peer, const Place& place, const Message& message) {
    if (message.granted) put_out(peer, Kind::refused, place, message.bytes);
}

// To an offer of so many bytes that is for this receive.
void Streams::answer(Peer& peer, const Place& place, Message& message, std::uint64_t bytes) {
    if (!has_length(message, bytes)) {
        withdraw(peer, place, message);
        return put_out(peer, Kind::refused, place, bytes);
    }
    peer.channels[place].granted.push_back(&message);
    if (!message.granted) put_out(peer, Kind::clear_to_send, place, bytes);
}

void Streams::want(int peer) {
    Peer& wanted = peer_of(peer);
    if (wanted.wanted) return;
    wanted.wanted = true;
    connections_.want(peer, 0);
    if (!connect(peer)) unmade_.push_back(peer);
}

// True when nothing more is to be awaited.
bool Streams::connect(int peer) {
    Peer& made = peer_of(peer);
    try {
        made.descriptor = connections_.descriptor(peer, 0);
    } catch (const Error& error) {
        lose(peer, error.what());
        return true;
    }
    if (made.descriptor < 0) return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(peer);
    if (::epoll_ctl(poller_, EPOLL_CTL_ADD, made.descriptor, &event) != 0)
        lose(peer, fmt::format("epoll_ctl: {}", std::strerror(errno)));
    return true;
}

void Streams::connect_awaited() {
    std::uint64_t rings = 0;
    static_cast<void>(!::read(*wakeup_, &rings, sizeof rings));
    for (const int peer : std::exchange(unmade_, {})) {
        if (connect(peer))
            write(peer);
        else
            unmade_.push_back(peer);
    }
}

// True when something was there.
bool Streams::read(int peer) {
    Peer& from = peer_of(peer);
    std::uint64_t sum = 0;
    while (sum < turn && !from.ended) {
        const bool direct = from.left >= buffer_bytes && from.target != nullptr;
        std::byte* const target = direct ? from.target : buffer_.get();
        const std::uint64_t wanted = direct ? std::min(from.left, turn) : buffer_bytes;
        const ssize_t count = ::recv(from.descriptor, target, wanted, MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (count <= 0) {
            ended(peer, count == 0 ? ECONNRESET : errno);
            break;
        }
        const auto read = static_cast<std::uint64_t>(count);
        sum += read;
        if (direct) {
            from.target += read;
            from.left -= read;
            if (from.left == 0) end_of_bytes(peer);
        } else {
            take_in(peer, buffer_.get(), read);
        }
        // It would tell of more.
        if (read < wanted) break;
    }
    write(peer);
    return sum > 0 || from.ended;
}

void Streams::take_in(int peer, const std::byte* bytes, std::uint64_t count) {
    Peer& from = peer_of(peer);
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
            if (from.left == 0) end_of_bytes(peer);
        }
        bytes += used;
        count -= used;
    }
}

void Streams::take_header(int peer) {
    Peer& from = peer_of(peer);
    const Header header = from.header;
    const Place place{header.group, header.channel};
    bool nonsense = false;
    Channel& queue = from.channels[place];
    from.message = nullptr;
    from.early = nullptr;
    from.target = nullptr;
    from.left = 0;
    switch (header.kind) {
        case Kind::eager:
        case Kind::request_to_send: {
            const bool whole = header.kind == Kind::eager;
            if (whole != (header.bytes <= max_short_bytes)) {
                nonsense = true;
                break;
            }
            if (whole) from.left = header.bytes;
            if (!queue.posted.empty()) {
                Message& message = *take_first(queue.posted);
                if (!whole) {
                    answer(from, place, message, header.bytes);
                } else if (has_length(message, header.bytes)) {
                    from.message = &message;
                    from.target = message.target;
                } else {
                    withdraw(from, place, message);
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
            break;
        }
        case Kind::clear_to_send:
        case Kind::refused: {
            const bool granted = header.kind == Kind::clear_to_send;
            const auto offer = std::find_if(queue.offered.begin(), queue.offered.end(),
                                            [&](const auto* sent) { return sent->bytes == header.bytes; });
            nonsense = header.bytes <= max_short_bytes;
            if (nonsense) break;
            if (offer == queue.offered.end()) {
                // What is refused may have left, by a grant that has crossed its offer.
                if (granted)
                    queue.grants.push_back(header.bytes);
                else if (const auto grant = std::find(queue.grants.begin(), queue.grants.end(), header.bytes);
                         grant != queue.grants.end())
                    queue.grants.erase(grant);
                break;
            }
            Message& message = **offer;
            queue.offered.erase(offer);
            // One that is refused has an error at the receiver, who says so.
            if (granted)
                put_out(from, Kind::data, place, message.bytes, &message);
            else
                complete(message);
            break;
        }
        case Kind::data: {
            from.left = header.bytes;
            if (!queue.granted.empty() && queue.granted.front()->bytes == header.bytes) {
                from.message = take_first(queue.granted);
                from.target = from.message->target;
            } else {
                // The bytes of a message that was refused after its grant.
                nonsense = !from.differs || header.bytes <= max_short_bytes;
            }
            break;
        }
        default:
            nonsense = true;
    }
    if (nonsense) {
        lose(peer, fmt::format("{} sends what is no message of this version of Lapwing",
                               connections_.describe(peer)));
        return ended(peer, ECONNRESET);
    }
    if (from.left == 0) end_of_bytes(peer);
}

// All that belongs to a header has been read.
void Streams::end_of_bytes(int peer) {
    Peer& from = peer_of(peer);
    const Place place{from.header.group, from.header.channel};
    from.header_read = 0;
    if (from.message != nullptr) complete(*from.message);
    const std::shared_ptr<Early> early = std::move(from.early);
    from.message = nullptr;
    from.early = nullptr;
    from.target = nullptr;
    if (early != nullptr) {
        early->complete = true;
        if (early->message != nullptr) meet(from, place, *early->message, early);
    }
    forget_channel(from, place);
}

// A channel that is idle costs nothing.
void Streams::forget_channel(Peer& peer, const Place& place) {
    const auto found = peer.channels.find(place);
    if (found != peer.channels.end() && found->second.empty()) peer.channels.erase(found);
}

// No error, as long as nothing is wanted from it: a rank may leave when it has done its part.
void Streams::ended(int peer, int error) {
    Peer& gone = peer_of(peer);
    if (!gone.ended) {
        gone.ended = true;
        gone.error = error;
        if (!gone.output.empty()) --with_output_;
        gone.output.clear();
        ::epoll_ctl(poller_, EPOLL_CTL_DEL, gone.descriptor, nullptr);
    }
    if (gone.under_way > 0) lose(peer, why_broken(connections_, peer, error));
}

void Streams::lose(int peer, const std::string& why) {
    Peer& gone = peer_of(peer);
    if (!gone.lost.empty()) return;
    gone.lost = why;
    if (trouble_.empty()) trouble_ = why;
    std::erase(unmade_, peer);
    ++peers_lost_;
    ++completed_;  // news for who waits for it
}

bool Streams::progress() {
    flush();
    epoll_event events[64];
    const int count = ::epoll_wait(poller_, events, 64, 0);
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

}  // namespace lapwing
