// What Traffic does: the second half of traffic.hpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "links/shm/traffic.hpp"

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
Traffic<Platform>::Traffic(const std::vector<Place>& places, Bell<Platform>& own_bell)
    : peers_(places.size()), bell_(own_bell) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Place& place = places[i];
        Peer& peer = peers_[i];
        peer.to = LaneWriter<Platform>(place.to);
        peer.from = LaneReader<Platform>(place.from);
        peer.bell = place.bell;
        peer.process = place.process;
        peer.rank = place.rank;
        peer.copies_directly = place.copies_directly;
        geometry_ = place.to.geometry;
        most_whole_ = geometry_.most_whole();
    }
}

template <typename Platform>
typename Traffic<Platform>::Message& Traffic<Platform>::take(int place, std::uint64_t bytes,
                                                             Link::Transfer& transfer) {
    if (idle_.empty()) {
        messages_.push_back(std::make_unique<Message>());
        idle_.push_back(messages_.back().get());
    }
    Message& message = *idle_.back();
    idle_.pop_back();
    message = {};
    message.place = place;
    message.bytes = bytes;
    transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
    return message;
}

template <typename Platform>
void Traffic<Platform>::tell(Peer& peer, int place) {
    if (peer.told) return;
    peer.told = true;
    told_.push_back(place);
}

template <typename Platform>
void Traffic<Platform>::ring_bells() {
    publish_news();
    for (const int place : told_) {
        Peer& peer = peer_of(place);
        peer.told = false;
        ring(*peer.bell);
    }
    told_.clear();
}

template <typename Platform>
void Traffic<Platform>::send(int place, std::uint64_t group, std::uint32_t channel, const std::byte* data,
                             std::uint64_t bytes, Link::Transfer& transfer) {
    check_usable();
    Peer& peer = peer_of(place);
    if (bytes <= most_whole_ && peer.waiting.empty() && peer.to.whole(group, channel, data, bytes)) {
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

// The message goes into the lane, or its offer. False: there is no room.
template <typename Platform>
bool Traffic<Platform>::put(Peer& peer, Message& message) {
    if (message.bytes <= most_whole_) {
        if (!peer.to.whole(message.group, message.channel, message.source, message.bytes)) return false;
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
void Traffic<Platform>::recv(int place, std::uint64_t group, std::uint32_t channel, std::byte* data,
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
    if (next != nullptr && same(*next) && Reader::kind(*next) == Kind::whole &&
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

// A receive meets an offer.
template <typename Platform>
void Traffic<Platform>::begin_receiving(Peer& peer, Message& message, std::uint64_t bytes,
                                        const Elsewhere& where) {
    Ticket& ticket = peer.from.ticket(where.ticket);
    if (bytes > message.bytes) {
        message.state = Message::State::too_long;
        ticket.state.store(Ticket::closed, std::memory_order_release);
        tell(peer, message.place);
        return;
    }
    message.bytes = bytes;
    message.state = Message::State::receiving;
    message.ticket = static_cast<int>(where.ticket);
    message.offered_at = where.at;
    peer.receiving.push_back(&message);
    ticket.target.store(reinterpret_cast<std::uintptr_t>(message.target), std::memory_order_relaxed);
    if (goes_in_pieces(peer, bytes)) {
        ticket.state.store(Ticket::wants_pieces, std::memory_order_release);
    } else {
        ticket.state.store(Ticket::shared, std::memory_order_release);
        if (bytes < 2 * geometry_.chunk) return;  // nothing to help with
    }
    tell(peer, message.place);
}

// A whole message, to the receive that it is for.
template <typename Platform>
void Traffic<Platform>::deliver(Message& message, const std::byte* data, std::uint64_t bytes) {
    complete(message);
    if (bytes > message.bytes)
        message.state = Message::State::too_long;
    else if (bytes > 0)
        std::memcpy(message.target, data, bytes);
}

template <typename Platform>
void Traffic<Platform>::add_piece(Peer& peer, const Slot& slot) {
    const std::uint32_t number = Reader::elsewhere(slot).ticket;
    const auto found =
        std::find_if(peer.receiving.begin(), peer.receiving.end(),
                     [&](const Message* message) { return message->ticket == static_cast<int>(number); });
    if (found == peer.receiving.end()) fail(fmt::format("rank {} sends a piece of no message", peer.rank));
    Message& message = **found;
    const std::uint64_t bytes = Reader::bytes(slot);
    std::memcpy(message.target + Reader::elsewhere(slot).bytes, peer.from.data(slot), bytes);
    message.in_vain = 0;
    // There is room for more.
    tell(peer, message.place);
    ++message.moved;
    look_for_end(peer, message);
}

// Of a receive in pieces: whether it has got all.
template <typename Platform>
void Traffic<Platform>::look_for_end(Peer& peer, Message& message) {
    Ticket& ticket = peer.from.ticket(static_cast<std::uint32_t>(message.ticket));
    if (message.moved + ticket.copied.load(std::memory_order_acquire) < pieces_of(message.bytes)) return;
    ticket.state.store(Ticket::closed, std::memory_order_release);
    tell(peer, message.place);
    std::erase(peer.receiving, &message);
    complete(message);
}

// All that the lane of a peer holds.
template <typename Platform>
void Traffic<Platform>::read(Peer& peer) {
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

// Others may have the traffic meanwhile: the message stays in its place until this chunk is counted.
template <typename Platform>
int Traffic<Platform>::copy_chunk(const Peer& peer, const Message& message, std::uint64_t target,
                                  std::uint64_t at, std::uint64_t bytes) {
    if (shared_) mutex_.unlock();
    const int error = message.sends ? Platform::copy_to(peer.process, target + at, message.source + at, bytes)
                                    : Platform::copy_from(peer.process, message.offered_at + at,
                                                          message.target + at, bytes);
    if (shared_) mutex_.lock();
    return error;
}

// Copies chunks that nobody else copies, in either direction. True when all are copied.
template <typename Platform>
bool Traffic<Platform>::copy_chunks(Peer& peer, Message& message, Ticket& ticket) {
    const std::uint32_t chunks = chunks_of(message.bytes);
    while (ticket.claimed.load(std::memory_order_relaxed) < chunks) {
        const std::uint32_t mine = ticket.claimed.fetch_add(1, std::memory_order_relaxed);
        if (mine >= chunks) break;
        const std::uint64_t chunk = geometry_.chunk_of(message.bytes);
        const std::uint64_t at = mine * chunk;
        const std::uint64_t bytes = std::min(chunk, message.bytes - at);
        const std::uint64_t target = message.sends ? ticket.target.load(std::memory_order_relaxed) : 0;
        const int error = copy_chunk(peer, message, target, at, bytes);
        if (error != 0) fail_to_copy(peer, message, bytes, error);
        ticket.copied.fetch_add(1, std::memory_order_acq_rel);
        tell(peer, message.place);
    }
    return ticket.copied.load(std::memory_order_acquire) == chunks;
}

template <typename Platform>
void Traffic<Platform>::fail_to_copy(const Peer& peer, const Message& message, std::uint64_t bytes,
                                     int error) {
    fail(error == ESRCH ? fmt::format("rank {} has ended", peer.rank)
                        : fmt::format("copying {} bytes {} the memory of rank {}: {}", bytes,
                                      message.sends ? "to" : "from", peer.rank, std::strerror(error)));
}

// The other side does something else: this one copies some pieces that nobody has claimed. Not many at once,
// since it has messages of its own to send meanwhile. How many.
template <typename Platform>
std::uint32_t Traffic<Platform>::copy_pieces(Peer& peer, Message& message, Ticket& ticket) {
    const std::uint32_t pieces = pieces_of(message.bytes);
    if (ticket.claimed.load(std::memory_order_relaxed) >= pieces) return 0;
    const auto some =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, geometry_.chunk / 4 / most_whole_));
    const std::uint32_t first = ticket.claimed.fetch_add(some, std::memory_order_relaxed);
    if (first >= pieces) return 0;
    const std::uint64_t at = first * most_whole_;
    const std::uint64_t bytes = std::min(some * most_whole_, message.bytes - at);
    const std::uint64_t target = message.sends ? ticket.target.load(std::memory_order_relaxed) : 0;
    if (const int error = copy_chunk(peer, message, target, at, bytes); error != 0)
        fail_to_copy(peer, message, bytes, error);
    const std::uint32_t copied = std::min(some, pieces - first);
    message.moved += copied;
    return copied;
}

template <typename Platform>
void Traffic<Platform>::go_on_receiving(Peer& peer, Message& message) {
    if (!peer.copies_directly) return;
    Ticket& ticket = peer.from.ticket(static_cast<std::uint32_t>(message.ticket));
    if (may_copy_pieces(peer, message)) {
        if (out_of_patience(message)) copy_pieces(peer, message, ticket);
        return look_for_end(peer, message);
    }
    if (!copy_chunks(peer, message, ticket)) return;
    ticket.state.store(Ticket::closed, std::memory_order_release);
    tell(peer, message.place);
    std::erase(peer.receiving, &message);
    complete(message);
}

template <typename Platform>
void Traffic<Platform>::send_pieces(Peer& peer, Message& message, Ticket& ticket) {
    const std::uint32_t pieces = pieces_of(message.bytes);
    // A piece that is claimed must go: nobody else takes it then.
    while (ticket.claimed.load(std::memory_order_relaxed) < pieces && peer.to.has_room(most_whole_)) {
        const std::uint32_t mine = ticket.claimed.fetch_add(1, std::memory_order_relaxed);
        if (mine >= pieces) break;
        const std::uint64_t at = mine * most_whole_;
        peer.to.piece(message.ticket, at, message.source + at, std::min(most_whole_, message.bytes - at));
        ++message.moved;
        message.in_vain = 0;
        tell(peer, message.place);
    }
    if (!may_copy_pieces(peer, message) || ticket.claimed.load(std::memory_order_relaxed) >= pieces) return;
    if (!out_of_patience(message)) return;
    if (const std::uint32_t copied = copy_pieces(peer, message, ticket); copied > 0) {
        ticket.copied.fetch_add(copied, std::memory_order_acq_rel);
        tell(peer, message.place);
    }
}

// An offered message.
template <typename Platform>
void Traffic<Platform>::go_on_sending(Peer& peer, Message& message) {
    Ticket& ticket = peer.to.ticket(message.ticket);
    switch (ticket.state.load(std::memory_order_acquire)) {
        case Ticket::shared:
            if (peer.copies_directly
                    ? !copy_chunks(peer, message, ticket)
                    : ticket.copied.load(std::memory_order_acquire) < chunks_of(message.bytes)) {
                return;
            }
            break;
        case Ticket::wants_pieces:
            send_pieces(peer, message, ticket);
            // Else the receiver has the rest, or may take it.
            if (message.moved < pieces_of(message.bytes)) return;
            break;
        case Ticket::closed:
            break;
        default:
            return;
    }
    peer.to.let_go(message.ticket);
    complete(message);
}

// True when nothing is left to send to the peer.
template <typename Platform>
bool Traffic<Platform>::move_sends(Peer& peer) {
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
bool Traffic<Platform>::test(Link::Transfer& transfer) {
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
        // No news for the helper: who tests knows.
        if (message.completed == completed_ && known_completed_ + 1 == completed_) ++known_completed_;
    }
    idle_.push_back(&message);
    transfer = {};
    return true;
}

template <typename Platform>
void Traffic<Platform>::refuse_length(Link::Transfer& transfer) {
    Message& message = *reinterpret_cast<Message*>(transfer.handle);
    idle_.push_back(&message);
    transfer = {};
    throw Error(ErrorCode::truncated,
                fmt::format("rank {} has sent more than the {} bytes that are expected: the arguments of a "
                            "collective differ, or its place in the order",
                            peer_of(message.place).rank, message.bytes));
}

// Whether a test of something might go on now.
template <typename Platform>
bool Traffic<Platform>::has_news() {
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
            if (state == Ticket::wants_pieces && claimed < pieces_of(message->bytes) &&
                (may_copy_pieces(peer, *message) || peer.to.has_room(most_whole_))) {
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
            if (!peer.copies_directly) continue;
            const bool in_pieces = may_copy_pieces(peer, *message);
            const std::uint32_t all = in_pieces ? pieces_of(message->bytes) : chunks_of(message->bytes);
            if (ticket.claimed.load(std::memory_order_relaxed) < all ||
                message->moved + ticket.copied.load(std::memory_order_acquire) == all) {
                return true;
            }
        }
    }
    return false;
}

template <typename Platform>
void Traffic<Platform>::sleep(long nanoseconds) {
    flush();
    sleep_at(
        bell_, [&] { return has_news(); }, nanoseconds);
}

template <typename Platform>
std::optional<std::uint32_t> Traffic<Platform>::lie_down() {
    flush();
    return shm::lie_down(bell_, [&] { return has_news(); });
}

template <typename Platform>
void Traffic<Platform>::move_all() {
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
void Traffic<Platform>::let_ring(bool on) {
    if (on) {
        bell_.asleep.exchange(1, std::memory_order_seq_cst);
        publish_news();
    } else {
        bell_.asleep.store(0, std::memory_order_relaxed);
    }
}

template <typename Platform>
void Traffic<Platform>::ring_here() {
    bell_.rings.fetch_add(1, std::memory_order_release);
    Platform::wake(bell_.rings);
}

template <typename Platform>
void Traffic<Platform>::give_up(const std::string& why) {
    {
        const std::lock_guard lock(why_mutex_);
        if (why_.empty()) why_ = why;
    }
    given_up_.store(true, std::memory_order_release);
    publish_news();
    ring(bell_);
}

template <typename Platform>
void Traffic<Platform>::refuse() {
    const std::lock_guard lock(why_mutex_);
    throw Error(ErrorCode::link, why_);
}

template <typename Platform>
void Traffic<Platform>::fail(const std::string& why) {
    give_up(why);
    refuse();
}

}  // namespace lapwing::shm
