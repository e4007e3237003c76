// The functions of Protocol, but for long messages.
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
Protocol<Platform>::Protocol(const std::vector<Neighbor>& neighbors, Doorbell<Platform>& own_doorbell)
    : peers_(neighbors.size()), doorbell_(own_doorbell) {
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
        const Neighbor& neighbor = neighbors[i];
        Peer& peer = peers_[i];
        peer.to = FifoWriter<Platform>(neighbor.to);
        peer.from = FifoReader<Platform>(neighbor.from);
        peer.doorbell = neighbor.doorbell;
        peer.process = neighbor.process;
        peer.rank = neighbor.rank;
        peer.copies_directly = neighbor.copies_directly;
        geometry_ = neighbor.to.geometry;
        eager_limit_ = geometry_.eager_limit();
    }
}

template <typename Platform>
typename Protocol<Platform>::Pending& Protocol<Platform>::take(int local_rank, std::uint64_t bytes,
                                                               Link::Transfer& transfer) {
    Pending& message = messages_.take();
    message = {};
    message.local_rank = local_rank;
    message.bytes = bytes;
    transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
    return message;
}

template <typename Platform>
void Protocol<Platform>::announce(Peer& peer) {
    if (!std::exchange(peer.announced, true)) announced_.push_back(&peer);
}

template <typename Platform>
void Protocol<Platform>::ring_doorbells() {
    publish_news<Platform>();
    for (Peer* const peer : announced_) {
        peer->announced = false;
        ring(*peer->doorbell, peer->pipe);
    }
    announced_.clear();
}

template <typename Platform>
void Protocol<Platform>::send(int local_rank, std::uint64_t group, std::uint32_t channel,
                              const std::byte* data, std::uint64_t bytes, Link::Transfer& transfer) {
    check_usable();
    Peer& peer = peer_of(local_rank);
    if (bytes <= eager_limit_ && peer.waiting.empty() && peer.to.eager(group, channel, data, bytes)) {
        transfer = {};
        announce(peer);
        return;
    }
    Pending& message = take(local_rank, bytes, transfer);
    message.sends = true;
    message.group = group;
    message.channel = channel;
    message.source = data;
    if (peer.waiting.empty() && peer.offered.empty()) sending_.push_back(&peer);
    if (!peer.waiting.empty() || !put(peer, message)) peer.waiting.push_back(&message);
}

// Puts the message, or its offer, into the FIFO. Returns false if there is no room.
template <typename Platform>
bool Protocol<Platform>::put(Peer& peer, Pending& message) {
    if (message.bytes <= eager_limit_) {
        if (!peer.to.eager(message.group, message.channel, message.source, message.bytes)) return false;
        complete(message);
    } else {
        message.ticket = peer.to.offer(message.group, message.channel, message.source, message.bytes);
        if (message.ticket < 0) return false;
        message.state = Pending::State::offered;
        peer.offered.push_back(&message);
    }
    announce(peer);
    return true;
}

template <typename Platform>
void Protocol<Platform>::recv(int local_rank, std::uint64_t group, std::uint32_t channel, std::byte* data,
                              std::uint64_t bytes, Link::Transfer& transfer) {
    check_usable();
    Peer& peer = peer_of(local_rank);
    const auto same = [&](const auto& other) { return other.group == group && other.channel == channel; };
    if (!peer.early.empty()) {
        if (auto [found, early] = take_first(peer.early, same); found) {
            Pending& message = take(local_rank, bytes, transfer);
            message.target = data;
            if (early.offered) {
                begin_receiving(peer, message, early.bytes, early.where);
                return;
            }
            deliver(message, early.data.get(), early.bytes);
            return;
        }
    }
    // The message may have arrived already: then the receive need not be posted.
    const Slot* const next = peer.from.next();
    if (next != nullptr && same(*next) && Reader::kind(*next) == Kind::eager &&
        Reader::bytes(*next) <= bytes &&
        std::none_of(peer.posted.begin(), peer.posted.end(),
                     [&](const Pending* other) { return same(*other); })) {
        if (const std::uint64_t sent = Reader::bytes(*next); sent > 0)
            std::memcpy(data, peer.from.data(*next), sent);
        peer.from.consume();
        transfer = {};
        return;
    }
    Pending& message = take(local_rank, bytes, transfer);
    message.group = group;
    message.channel = channel;
    message.target = data;
    peer.posted.push_back(&message);
}

// Copies a whole message to its receive.
template <typename Platform>
void Protocol<Platform>::deliver(Pending& message, const std::byte* data, std::uint64_t bytes) {
    complete(message);
    if (bytes > message.bytes)
        message.state = Pending::State::too_long;
    else if (bytes > 0)
        std::memcpy(message.target, data, bytes);
}

// Reads all messages in the FIFO of a peer.
template <typename Platform>
void Protocol<Platform>::read(Peer& peer) {
    while (const Slot* const slot = peer.from.next()) {
        const Kind kind = Reader::kind(*slot);
        if (kind == Kind::piece) {
            add_piece(peer, *slot);
            peer.from.consume();
            continue;
        }
        const auto [found, message] = take_first(peer.posted, [&](const Pending* posted) {
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

// Returns true if no send to the peer is left.
template <typename Platform>
bool Protocol<Platform>::advance_sends(Peer& peer) {
    for (std::size_t i = 0; i < peer.offered.size();) {
        Pending& message = *peer.offered[i];
        advance_send(peer, message);
        if (message.state == Pending::State::complete)
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
    Pending& message = *reinterpret_cast<Pending*>(transfer.handle);
    if (message.state != Pending::State::complete) {
        check_usable();
        Peer& peer = peer_of(message.local_rank);
        if (!message.sends) {
            read(peer);
            if (message.state == Pending::State::receiving) advance_receive(peer, message);
        }
        progress();
        if (message.state == Pending::State::too_long) refuse_length(transfer);
        if (message.state != Pending::State::complete) return false;
        // The caller has seen this completion: it must not wake the progress thread.
        if (message.completed == completed_ && known_completed_ + 1 == completed_) ++known_completed_;
    }
    messages_.release(message);
    transfer = {};
    return true;
}

template <typename Platform>
void Protocol<Platform>::refuse_length(Link::Transfer& transfer) {
    Pending& message = *reinterpret_cast<Pending*>(transfer.handle);
    messages_.release(message);
    transfer = {};
    throw Error(
        ErrorCode::truncated,
        fmt::format("rank {} has sent more than the {} bytes that are expected: ranks disagree on the "
                    "arguments of a collective, or call collectives in different orders",
                    peer_of(message.local_rank).rank, message.bytes));
}

// Whether a test might advance now.
template <typename Platform>
bool Protocol<Platform>::has_events() {
    if (given_up_.load(std::memory_order_acquire)) return true;
    for (Peer* const peer : sending_) {
        // The receiver does not ring when there is room again.
        if (!peer->waiting.empty()) return true;
        for (const Pending* message : peer->offered) {
            const Ticket& ticket = peer->to.ticket(message->ticket);
            const std::uint32_t state = ticket.state.load(std::memory_order_acquire);
            const std::uint32_t claimed = ticket.claimed.load(std::memory_order_relaxed);
            if (state == Ticket::closed) return true;
            const bool must_stop = state == Ticket::refused || message->failed;
            if (must_stop && message->copying == 0) return true;
            if (state == Ticket::wants_pieces && claimed < pieces_of(message->bytes) &&
                (peer->copies_directly || peer->to.has_room(eager_limit_))) {
                return true;
            }
            if (state == Ticket::shared && peer->copies_directly && claimed < chunks_of(message->bytes))
                return true;
        }
    }
    for (Peer& peer : peers_) {
        if (peer.posted.empty() && peer.receiving.empty()) continue;
        if (peer.from.next() != nullptr) return true;
        for (const Pending* message : peer.receiving) {
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
        doorbell_, [&] { return has_events(); }, nanoseconds);
}

template <typename Platform>
std::optional<std::uint32_t> Protocol<Platform>::prepare_to_sleep() {
    flush();
    return shm::prepare_to_sleep(doorbell_, [&] { return has_events(); });
}

template <typename Platform>
void Protocol<Platform>::move_all() {
    check_usable();
    known_completed_ = completed_;
    for (Peer& peer : peers_) {
        if (!peer.posted.empty() || !peer.receiving.empty()) read(peer);
        // Other threads may remove messages while this one copies.
        for (std::size_t i = 0; i < peer.receiving.size();) {
            Pending* const message = peer.receiving[i];
            advance_receive(peer, *message);
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
