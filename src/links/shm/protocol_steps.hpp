// What Protocol does: the second part of protocol.hpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "links/shm/protocol.hpp"

namespace lapwing::shm {

template <typename Entries, typename Is>
auto take_first(Entries& entries, Is is) {
    const auto found = std::find_if(entries.begin(), entries.end(), is);
    typename Entries::value_type entry{};
    if (found == entries.end()) return std::pair(false, std::move(entry));
    entry = std::move(*found);
    entries.erase(found);
    return std::pair(true, std::move(entry));
}

template <typename Platform>
Protocol<Platform>::Protocol(const std::vector<Place>& places, Doorbell<Platform>& own_doorbell)
    : peers_(places.size()), doorbell_(own_doorbell) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Place& place = places[i];
        Peer& peer = peers_[i];
        peer.to = FifoWriter<Platform>(place.to);
        peer.from = FifoReader<Platform>(place.from);
        peer.doorbell = place.doorbell;
        peer.process = place.process;
        peer.rank = place.rank;
        peer.copies_directly = place.copies_directly;
        geometry_ = place.to.geometry;
        eager_limit_ = geometry_.eager_limit();
    }
}

template <typename Platform>
typename Protocol<Platform>::Message& Protocol<Platform>::take(int place, std::uint64_t bytes,
                                                               Link::Transfer& transfer) {
    Message& message = messages_.take();
    message = {};
    message.place = place;
    message.bytes = bytes;
    transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
    return message;
}

template <typename Platform>
void Protocol<Platform>::tell(Peer& peer, int place) {
    if (peer.told) return;
    peer.told = true;
    told_.push_back(place);
}

template <typename Platform>
void Protocol<Platform>::ring_doorbells() {
    publish_news<Platform>();
    for (const int place : told_) {
        Peer& peer = peer_of(place);
        peer.told = false;
        ring(*peer.doorbell, peer.pipe);
    }
    told_.clear();
}

template <typename Platform>
void Protocol<Platform>::send(int place, std::uint64_t group, std::uint32_t channel, const std::byte* data,
                              std::uint64_t bytes, Link::Transfer& transfer) {
    check_usable();
    Peer& peer = peer_of(place);
    if (bytes <= eager_limit_ && peer.waiting.empty() && peer.to.eager(group, channel, data, bytes)) {
        transfer = {};
        tell(peer, place);
        return;
    }
    Message& message = take(place, bytes, transfer);
    message.sends = true;
    message.group = group;
    message.channel = channel;
    message.source = data;
    if (peer.waiting.empty() && peer.offered.empty()) sending_.push_back(place);
    if (!peer.waiting.empty() || !put(peer, message)) peer.waiting.push_back(&message);
}

// The message goes into the FIFO, or its offer. False: there is no room.
template <typename Platform>
bool Protocol<Platform>::put(Peer& peer, Message& message) {
    if (message.bytes <= eager_limit_) {
        if (!peer.to.eager(message.group, message.channel, message.source, message.bytes)) return false;
        complete(message);
    } else {
        message.ticket = peer.to.offer(message.group, message.channel, message.source, message.bytes);
        if (message.ticket < 0) return false;
        message.state = Message::State::offered;
        peer.offered.push_back(&message);
    }
    tell(peer, message.place);
    return true;
}

template <typename Platform>
void Protocol<Platform>::recv(int place, std::uint64_t group, std::uint32_t channel, std::byte* data,
                              std::uint64_t bytes, Link::Transfer& transfer) {
    check_usable();
    Peer& peer = peer_of(place);
    const auto same = [&](const auto& other) { return other.group == group && other.channel == channel; };
    if (!peer.early.empty()) {
        if (auto [found, early] = take_first(peer.early, same); found) {
            Message& message = take(place, bytes, transfer);
            message.target = data;
            if (early.offered) {
                begin_receiving(peer, message, early.bytes, early.where);
                return;
            }
            deliver(message, early.data.get(), early.bytes);
            return;
        }
    }
    // What has come already need not be posted.
    const Slot* const next = peer.from.next();
    if (next != nullptr && same(*next) && Reader::kind(*next) == Kind::eager &&
        Reader::bytes(*next) <= bytes &&
        std::none_of(peer.posted.begin(), peer.posted.end(),
                     [&](const Message* other) { return same(*other); })) {
        if (const std::uint64_t sent = Reader::bytes(*next); sent > 0)
            std::memcpy(data, peer.from.data(*next), sent);
        peer.from.consume();
        transfer = {};
        return;
    }
    Message& message = take(place, bytes, transfer);
    message.group = group;
    message.channel = channel;
    message.target = data;
    peer.posted.push_back(&message);
}

// A whole message, to the receive that it is for.
template <typename Platform>
void Protocol<Platform>::deliver(Message& message, const std::byte* data, std::uint64_t bytes) {
    complete(message);
    if (bytes > message.bytes)
        message.state = Message::State::too_long;
    else if (bytes > 0)
        std::memcpy(message.target, data, bytes);
}

// All that the FIFO of a peer holds.
template <typename Platform>
void Protocol<Platform>::read(Peer& peer) {
    while (const Slot* const slot = peer.from.next()) {
        const Kind kind = Reader::kind(*slot);
        if (kind == Kind::piece) {
            add_piece(peer, *slot);
            peer.from.consume();
            continue;
        }
        const auto [found, message] = take_first(peer.posted, [&](const Message* posted) {
            return posted->group == slot->group && posted->channel == slot->channel;
        });
        const bool offered = kind == Kind::offer;
        const Elsewhere where = offered ? Reader::elsewhere(*slot) : Elsewhere{};
        const std::uint64_t bytes = offered ? where.bytes : Reader::bytes(*slot);
        if (!found) {
            Early early{slot->group, slot->channel, offered, bytes, where, nullptr};
            if (!offered && bytes > 0) {
                early.data.reset(new std::byte[bytes]);
                std::memcpy(early.data.get(), peer.from.data(*slot), bytes);
            }
            peer.early.push_back(std::move(early));
        } else if (offered) {
            begin_receiving(peer, *message, bytes, where);
        } else {
            deliver(*message, peer.from.data(*slot), bytes);
        }
        peer.from.consume();
    }
}

// True when nothing is left to send to the peer.
template <typename Platform>
bool Protocol<Platform>::move_sends(Peer& peer) {
    for (std::size_t i = 0; i < peer.offered.size();) {
        Message& message = *peer.offered[i];
        go_on_sending(peer, message);
        if (message.state == Message::State::complete)
            std::erase(peer.offered, &message);
        else
            ++i;
    }
    while (!peer.waiting.empty() && put(peer, *peer.waiting.front())) peer.waiting.pop_front();
    return peer.waiting.empty() && peer.offered.empty();
}

template <typename Platform>
bool Protocol<Platform>::test(Link::Transfer& transfer) {
    if (!transfer.active) return true;
    Message& message = *reinterpret_cast<Message*>(transfer.handle);
    if (message.state != Message::State::complete) {
        check_usable();
        Peer& peer = peer_of(message.place);
        if (!message.sends) {
            read(peer);
            if (message.state == Message::State::receiving) go_on_receiving(peer, message);
        }
        progress();
        if (message.state == Message::State::too_long) refuse_length(transfer);
        if (message.state != Message::State::complete) return false;
        // No news for the progress thread: who tests knows.
        if (message.completed == completed_ && known_completed_ + 1 == completed_) ++known_completed_;
    }
    messages_.release(message);
    transfer = {};
    return true;
}

template <typename Platform>
void Protocol<Platform>::refuse_length(Link::Transfer& transfer) {
    Message& message = *reinterpret_cast<Message*>(transfer.handle);
    messages_.release(message);
    transfer = {};
    throw Error(ErrorCode::truncated,
                fmt::format("rank {} has sent more than the {} bytes that are expected: the arguments of a "
                            "collective differ, or its place in the order",
                            peer_of(message.place).rank, message.bytes));
}

// Whether a test of something might go on now.
template <typename Platform>
bool Protocol<Platform>::has_news() {
    if (given_up_.load(std::memory_order_acquire)) return true;
    for (const int place : sending_) {
        Peer& peer = peer_of(place);
        // Nobody rings when there is room again.
        if (!peer.waiting.empty()) return true;
        for (const Message* message : peer.offered) {
            const Ticket& ticket = peer.to.ticket(message->ticket);
            const std::uint32_t state = ticket.state.load(std::memory_order_acquire);
            const std::uint32_t claimed = ticket.claimed.load(std::memory_order_relaxed);
            if (state == Ticket::closed) return true;
            const bool must_stop = state == Ticket::refused || message->failed;
            if (must_stop && message->copying == 0) return true;
            if (state == Ticket::wants_pieces && claimed < pieces_of(message->bytes) &&
                (peer.copies_directly || peer.to.has_room(eager_limit_))) {
                return true;
            }
            if (state == Ticket::shared && peer.copies_directly && claimed < chunks_of(message->bytes))
                return true;
        }
    }
    for (Peer& peer : peers_) {
        if (peer.posted.empty() && peer.receiving.empty()) continue;
        if (peer.from.next() != nullptr) return true;
        for (const Message* message : peer.receiving) {
            const Ticket& ticket = peer.from.ticket(static_cast<std::uint32_t>(message->ticket));
            const std::uint32_t state = ticket.state.load(std::memory_order_acquire);
            if (state == Ticket::stopped && message->copying == 0) return true;
            if (must_refuse(peer, *message, state)) return true;
            const std::uint32_t all =
                message->in_pieces ? pieces_of(message->bytes) : chunks_of(message->bytes);
            if ((peer.copies_directly && ticket.claimed.load(std::memory_order_relaxed) < all) ||
                message->moved + ticket.copied.load(std::memory_order_acquire) == all) {
                return true;
            }
        }
    }
    return false;
}

template <typename Platform>
bool Protocol<Platform>::sleep(long nanoseconds) {
    flush();
    return sleep_at(
        doorbell_, [&] { return has_news(); }, nanoseconds);
}

template <typename Platform>
std::optional<std::uint32_t> Protocol<Platform>::prepare_to_sleep() {
    flush();
    return shm::prepare_to_sleep(doorbell_, [&] { return has_news(); });
}

template <typename Platform>
void Protocol<Platform>::move_all() {
    check_usable();
    known_completed_ = completed_;
    for (Peer& peer : peers_) {
        if (!peer.posted.empty() || !peer.receiving.empty()) read(peer);
        // Others may take some out while one is copied.
        for (std::size_t i = 0; i < peer.receiving.size();) {
            Message* const message = peer.receiving[i];
            go_on_receiving(peer, *message);
            if (i < peer.receiving.size() && peer.receiving[i] == message) ++i;
        }
    }
    progress();
}

template <typename Platform>
void Protocol<Platform>::sleep_at_pipe(int writer) {
    own_pipe_ = writer;
    doorbell_.pipe.store(static_cast<std::uint32_t>(writer) + 1, std::memory_order_release);
}

template <typename Platform>
void Protocol<Platform>::reach_pipes(const std::function<int(pid_t process, int writer)>& open) {
    for (Peer& peer : peers_) {
        const std::uint32_t pipe = peer.doorbell->pipe.load(std::memory_order_acquire);
        if (pipe != 0) peer.pipe = open(peer.process, static_cast<int>(pipe - 1));
    }
}

template <typename Platform>
void Protocol<Platform>::let_ring(bool on) {
    if (on) {
        doorbell_.asleep.exchange(own_pipe_ < 0 ? at_the_word : at_a_pipe, std::memory_order_seq_cst);
        publish_news<Platform>();
    } else {
        doorbell_.asleep.store(awake, std::memory_order_relaxed);
    }
}

template <typename Platform>
void Protocol<Platform>::ring_here() {
    ring_at(doorbell_, own_pipe_ < 0 ? at_the_word : at_a_pipe, own_pipe_);
}

template <typename Platform>
void Protocol<Platform>::give_up(const std::string& why) {
    {
        const std::lock_guard lock(why_mutex_);
        if (why_.empty()) why_ = why;
    }
    given_up_.store(true, std::memory_order_release);
    publish_news<Platform>();
    ring(doorbell_, own_pipe_);
}

template <typename Platform>
void Protocol<Platform>::refuse() {
    const std::lock_guard lock(why_mutex_);
    throw Error(ErrorCode::link, why_);
}

template <typename Platform>
void Protocol<Platform>::fail(const std::string& why) {
    give_up(why);
    refuse();
}

}  // namespace lapwing::shm
