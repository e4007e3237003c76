// The functions of Protocol for long messages.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "links/shm/protocol.hpp"

namespace lapwing::shm {

// Chooses the way that a receive asks for.
template <typename Platform>
void Protocol<Platform>::choose_way(Peer& peer, Pending& message) {
    message.in_pieces = !peer.copies_directly || message.bytes <= geometry_.max_in_pieces;
    if (!peer.copies_directly || !geometry_.measures_ways) return;
    if (peer.choice == nullptr) peer.choice = std::make_unique<TransferChoice>(geometry_.max_in_pieces);
    const auto [way, timed] = peer.choice->next(message.bytes);
    message.in_pieces = way == Way::pieces;
    if (timed) message.opened = Platform::nanoseconds();
}

// A receive meets an offer.
template <typename Platform>
void Protocol<Platform>::begin_receiving(Peer& peer, Pending& message, std::uint64_t bytes,
                                         const Elsewhere& where) {
    Ticket& ticket = peer.from.ticket(where.ticket);
    if (bytes > message.bytes) {
        message.state = Pending::State::too_long;
        ticket.state.store(Ticket::closed, std::memory_order_release);
        announce(peer);
        return;
    }
    message.bytes = bytes;
    message.state = Pending::State::receiving;
    message.ticket = static_cast<int>(where.ticket);
    message.offered_at = where.at;
    peer.receiving.push_back(&message);
    ticket.target.store(reinterpret_cast<std::uintptr_t>(message.target), std::memory_order_relaxed);
    choose_way(peer, message);
    ticket.state.store(message.in_pieces ? Ticket::wants_pieces : Ticket::shared, std::memory_order_release);
    // A message of one chunk needs no help from its sender.
    if (message.in_pieces || bytes >= 2 * geometry_.chunk) announce(peer);
}

template <typename Platform>
void Protocol<Platform>::complete_receive(Peer& peer, Pending& message, Ticket& ticket) {
    ticket.state.store(Ticket::closed, std::memory_order_release);
    announce(peer);
    std::erase(peer.receiving, &message);
    complete(message);
    if (message.opened == 0) return;
    peer.choice->took(message.bytes, message.in_pieces ? Way::pieces : Way::direct,
                      Platform::nanoseconds() - message.opened);
}

template <typename Platform>
void Protocol<Platform>::add_piece(Peer& peer, const Slot& slot) {
    const std::uint32_t number = Reader::elsewhere(slot).ticket;
    const auto found =
        std::find_if(peer.receiving.begin(), peer.receiving.end(),
                     [&](const Pending* message) { return message->ticket == static_cast<int>(number); });
    if (found == peer.receiving.end())
        fail(fmt::format("rank {} sent a piece of an unknown message", peer.rank));
    Pending& message = **found;
    const std::uint64_t bytes = Reader::bytes(slot);
    std::memcpy(message.target + Reader::elsewhere(slot).bytes, peer.from.data(slot), bytes);
    message.in_vain = 0;
    // The sender has room for more.
    announce(peer);
    ++message.moved;
    look_for_end(peer, message);
}

// Completes a receive in pieces if it has all of them.
template <typename Platform>
void Protocol<Platform>::look_for_end(Peer& peer, Pending& message) {
    Ticket& ticket = peer.from.ticket(static_cast<std::uint32_t>(message.ticket));
    if (message.moved + ticket.copied.load(std::memory_order_acquire) == pieces_of(message.bytes))
        complete_receive(peer, message, ticket);
}

// Releases the lock while it copies; the message stays valid until this chunk is counted. Returns false if
// the system refuses the copy.
template <typename Platform>
bool Protocol<Platform>::copy_chunk(Peer& peer, Pending& message, std::uint64_t target, std::uint64_t at,
                                    std::uint64_t bytes) {
    ++message.copying;
    if (shared_) mutex_.unlock();
    const int error = message.sends ? Platform::copy_to(peer.process, target + at, message.source + at, bytes)
                                    : Platform::copy_from(peer.process, message.offered_at + at,
                                                          message.target + at, bytes);
    if (shared_) mutex_.lock();
    --message.copying;
    if (error == 0) return true;
    if (error == ESRCH) fail(fmt::format("rank {} has ended", peer.rank));
    if (error != EPERM && error != EACCES && error != ENOSYS) {
        fail(fmt::format("copying {} bytes {} the memory of rank {}: {}", bytes,
                         message.sends ? "to" : "from", peer.rank, std::strerror(error)));
    }
    message.failed = true;
    peer.copies_directly = false;
    if (why_refused_.empty())
        why_refused_ = fmt::format("{}: {}", message.sends ? "process_vm_writev" : "process_vm_readv",
                                   std::strerror(error));
    return false;
}

// Of a receive whose copies the system refuses: it starts again, in pieces. Returns true if it waits for the
// sender to stop, or has started again.
template <typename Platform>
bool Protocol<Platform>::begin_again(Peer& peer, Pending& message, Ticket& ticket) {
    const std::uint32_t state = ticket.state.load(std::memory_order_acquire);
    // Then the sender does not stop.
    if (all_chunks_copied(message, ticket)) return false;
    if (state == Ticket::stopped && message.copying == 0) {
        // Pieces that the sender sent before it stopped are in the FIFO.
        read(peer);
        peer.copies_directly = false;
        message.failed = false;
        message.in_pieces = true;
        message.moved = 0;
        message.opened = 0;
        ticket.claimed.store(0, std::memory_order_relaxed);
        ticket.copied.store(0, std::memory_order_relaxed);
        ticket.state.store(Ticket::wants_pieces, std::memory_order_release);
        announce(peer);
        return true;
    }
    if (must_refuse(peer, message, state)) {
        ticket.state.store(Ticket::refused, std::memory_order_release);
        announce(peer);
        return true;
    }
    return state == Ticket::refused || state == Ticket::stopped;
}

// Of a send: waits until its own copies have ended.
template <typename Platform>
void Protocol<Platform>::stop_sending(Peer& peer, Pending& message, Ticket& ticket) {
    if (message.copying > 0) return;
    peer.copies_directly = false;
    message.failed = false;
    message.in_pieces = true;
    message.moved = 0;
    ticket.state.store(Ticket::stopped, std::memory_order_release);
    announce(peer);
}

// Copies unclaimed chunks, in either direction. Returns true if all are copied.
template <typename Platform>
bool Protocol<Platform>::copy_chunks(Peer& peer, Pending& message, Ticket& ticket) {
    const std::uint32_t chunks = chunks_of(message.bytes);
    while (peer.copies_directly && ticket.claimed.load(std::memory_order_relaxed) < chunks) {
        const std::uint32_t mine = ticket.claimed.fetch_add(1, std::memory_order_relaxed);
        if (mine >= chunks) break;
        const std::uint64_t chunk = geometry_.chunk_of(message.bytes);
        const std::uint64_t at = mine * chunk;
        const std::uint64_t bytes = std::min(chunk, message.bytes - at);
        const std::uint64_t target = message.sends ? ticket.target.load(std::memory_order_relaxed) : 0;
        if (!copy_chunk(peer, message, target, at, bytes)) return false;
        ticket.copied.fetch_add(1, std::memory_order_release);
        announce(peer);
    }
    return ticket.copied.load(std::memory_order_acquire) == chunks;
}

// While the other side is busy, this side copies some unclaimed pieces; only a few at once, since it has
// messages of its own to send. Returns how many it has copied.
template <typename Platform>
std::uint32_t Protocol<Platform>::copy_pieces(Peer& peer, Pending& message, Ticket& ticket) {
    const std::uint32_t pieces = pieces_of(message.bytes);
    if (ticket.claimed.load(std::memory_order_relaxed) >= pieces) return 0;
    const auto some =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, geometry_.chunk / 4 / eager_limit_));
    const std::uint32_t first = ticket.claimed.fetch_add(some, std::memory_order_relaxed);
    if (first >= pieces) return 0;
    const std::uint64_t at = first * eager_limit_;
    const std::uint64_t bytes = std::min(some * eager_limit_, message.bytes - at);
    const std::uint64_t target = message.sends ? ticket.target.load(std::memory_order_relaxed) : 0;
    if (!copy_chunk(peer, message, target, at, bytes)) return 0;
    const std::uint32_t copied = std::min(some, pieces - first);
    message.moved += copied;
    return copied;
}

template <typename Platform>
void Protocol<Platform>::advance_receive(Peer& peer, Pending& message) {
    Ticket& ticket = peer.from.ticket(static_cast<std::uint32_t>(message.ticket));
    if (begin_again(peer, message, ticket)) return;
    if (message.in_pieces) {
        if (peer.copies_directly && out_of_patience(message)) copy_pieces(peer, message, ticket);
        // The sender may have copied the last pieces, even if this side may not copy.
        look_for_end(peer, message);
    } else if (copy_chunks(peer, message, ticket)) {
        complete_receive(peer, message, ticket);
    }
    if (message.failed) begin_again(peer, message, ticket);
}

template <typename Platform>
void Protocol<Platform>::send_pieces(Peer& peer, Pending& message, Ticket& ticket) {
    const std::uint32_t pieces = pieces_of(message.bytes);
    // A claimed piece must be sent: the other side does not take it.
    while (ticket.claimed.load(std::memory_order_relaxed) < pieces && peer.to.has_room(eager_limit_)) {
        const std::uint32_t mine = ticket.claimed.fetch_add(1, std::memory_order_relaxed);
        if (mine >= pieces) break;
        const std::uint64_t at = mine * eager_limit_;
        peer.to.piece(message.ticket, at, message.source + at, std::min(eager_limit_, message.bytes - at));
        ++message.moved;
        message.in_vain = 0;
        announce(peer);
    }
    if (!peer.copies_directly || ticket.claimed.load(std::memory_order_relaxed) >= pieces) return;
    if (!out_of_patience(message)) return;
    if (const std::uint32_t copied = copy_pieces(peer, message, ticket); copied > 0) {
        ticket.copied.fetch_add(copied, std::memory_order_release);
        announce(peer);
    }
}

// Advances an offered message.
template <typename Platform>
void Protocol<Platform>::advance_send(Peer& peer, Pending& message) {
    Ticket& ticket = peer.to.ticket(message.ticket);
    const std::uint32_t state = ticket.state.load(std::memory_order_acquire);
    switch (state) {
        case Ticket::refused:
            if (!all_chunks_copied(message, ticket)) return stop_sending(peer, message, ticket);
            break;
        case Ticket::shared:
            if (copy_chunks(peer, message, ticket)) break;
            if (message.failed) stop_sending(peer, message, ticket);
            return;
        case Ticket::wants_pieces:
            message.in_pieces = true;
            send_pieces(peer, message, ticket);
            if (message.moved == pieces_of(message.bytes)) break;
            if (message.failed) stop_sending(peer, message, ticket);
            // Otherwise the receiver has claimed the rest, or may.
            return;
        case Ticket::closed:
            break;
        default:
            return;
    }
    peer.to.release(message.ticket);
    complete(message);
}

}  // namespace lapwing::shm
