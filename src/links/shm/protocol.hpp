// The messages between one rank and the others of its host: matches receives with messages.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/object_pool.hpp"
#include "links/link.hpp"
#include "links/shm/doorbell.hpp"
#include "links/shm/fifo.hpp"
#include "links/shm/platform.hpp"
#include "links/shm/transfer_choice.hpp"

namespace lapwing::shm {

template <typename Entries, typename Is>
auto take_first(Entries& entries, Is is) {
    const auto found = std::ranges::find_if(entries, is);
    typename Entries::value_type entry{};
    if (found == entries.end()) return std::pair(false, std::move(entry));
    entry = std::move(*found);
    entries.erase(found);
    return std::pair(true, std::move(entry));
}

template <typename Platform>
class Protocol {
  public:
    // Another rank of the host. Its local rank is its number among the ranks of the host.
    struct Neighbor {
        Fifo<Platform> to;
        Fifo<Platform> from;
        Doorbell<Platform>* doorbell = nullptr;
        pid_t process = 0;
        int rank = 0;                  // in the job, for messages
        bool copies_directly = false;  // the kernel lets this rank copy
    };
    Protocol(const std::vector<Neighbor>& neighbors, Doorbell<Platform>& own_doorbell)
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

    void send(int local_rank, std::uint64_t group, std::uint32_t channel, const std::byte* data,
              std::uint64_t bytes, Link::Transfer& transfer) {
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
    void recv(int local_rank, std::uint64_t group, std::uint32_t channel, std::byte* data,
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
            std::ranges::none_of(peer.posted, [&](const Pending* other) { return same(*other); })) {
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
    bool test(Link::Transfer& transfer) {
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

    // Advances all sends.
    void progress() {
        for (std::size_t i = 0; i < sending_.size();) {
            Peer* const peer = sending_[i];
            if (advance_sends(*peer))
                std::erase(sending_, peer);
            else
                ++i;
        }
        flush();
    }

    // Wakes the sleeping peers that this rank has something for.
    void flush() {
        if (!announced_.empty()) ring_doorbells();
    }
    // Returns true if something has arrived, or the doorbell has rung.
    bool sleep(long nanoseconds) {
        const auto seen = prepare_to_sleep();
        return !seen || sleep_on(*seen, nanoseconds);
    }
    // The same in two steps; the second needs no lock. See doorbell.hpp.
    std::optional<std::uint32_t> prepare_to_sleep() {
        flush();
        return shm::prepare_to_sleep(doorbell_, [&] { return has_events(); });
    }
    bool sleep_on(std::uint32_t seen, long nanoseconds) {
        return shm::sleep_on(doorbell_, seen, nanoseconds);
    }
    void give_up(const std::string& why) {
        {
            const std::lock_guard lock(why_mutex_);
            if (why_.empty()) why_ = why;
        }
        given_up_.store(true, std::memory_order_release);
        publish_news<Platform>();
        ring(doorbell_, own_pipe_);
    }

    // Lets several threads use the protocol, each under the lock of hold(). The lock is released while bytes
    // of a long message are copied. No thread may use sleep() then; one progress thread sleeps by the
    // functions below.
    void share() { shared_ = true; }
    [[nodiscard]] std::unique_lock<typename Platform::Mutex> hold() {
        return shared_ ? std::unique_lock(mutex_) : std::unique_lock<typename Platform::Mutex>();
    }
    // Advances all sends and receives.
    void move_all() {
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

    // Whether move_all() or a test might advance now, or there are completions that no thread has seen.
    bool has_events_for_progress_thread() { return has_events() || completed_ != known_completed_; }
    // Marks all completions as seen.
    void forget_completed() { known_completed_ = completed_; }
    // Of messages received, by peer with a choice of ways.
    std::vector<std::vector<TransferTimes>> transfer_times() const {
        std::vector<std::vector<TransferTimes>> all;
        for (const Peer& peer : peers_)
            if (peer.choice != nullptr) all.push_back(peer.choice->times());
        return all;
    }

    // Before the first message: the progress thread sleeps in poll(), at the pipe whose writing end is
    // `writer`.
    void sleep_at_pipe(int writer) {
        own_pipe_ = writer;
        doorbell_.pipe.store(static_cast<std::uint32_t>(writer) + 1, std::memory_order_release);
    }
    // When all ranks have called sleep_at_pipe(): opens the writing ends of their pipes by `open`.
    void reach_pipes(const std::function<int(pid_t process, int writer)>& open) {
        for (Peer& peer : peers_) {
            const std::uint32_t pipe = peer.doorbell->pipe.load(std::memory_order_acquire);
            if (pipe != 0) peer.pipe = open(peer.process, static_cast<int>(pipe - 1));
        }
    }

    // These need no lock. The caller of let_ring(true) must check has_events_for_progress_thread()
    // afterwards.
    void let_ring(bool on) {
        if (on) {
            doorbell_.asleep.exchange(own_pipe_ < 0 ? at_the_word : at_a_pipe, std::memory_order_seq_cst);
            publish_news<Platform>();
        } else {
            doorbell_.asleep.store(awake, std::memory_order_relaxed);
        }
    }

    std::uint32_t rings() const { return doorbell_.rings.load(std::memory_order_acquire); }
    void ring_here() { ring_at(doorbell_, own_pipe_ < 0 ? at_the_word : at_a_pipe, own_pipe_); }
    void sleep_since(std::uint32_t rings, long nanoseconds) {
        Platform::sleep(doorbell_.rings, rings, nanoseconds);
    }

  private:
    using Ticket = shm::Ticket<Platform>;
    using Slot = shm::Slot<Platform>;
    using Reader = FifoReader<Platform>;

    // A send or receive that is not complete.
    struct Pending {
        enum class State { waits, offered, receiving, complete, too_long };
        int local_rank = 0;
        bool sends = false;
        State state = State::waits;
        std::uint64_t group = 0;
        std::uint32_t channel = 0;
        int ticket = -1;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;
        std::uint64_t bytes = 0;
        std::uint64_t moved = 0;       // pieces that this side has sent, received or copied
        std::uint64_t in_vain = 0;     // since when it waits for a piece, or for room for one; 0: it does not
        std::uint64_t offered_at = 0;  // its address in the sender's memory
        bool in_pieces = false;        // a receive: how it was opened
        std::uint64_t opened = 0;      // when, if it is timed; otherwise 0
        std::uint64_t completed = 0;   // completions up to this one
    };
    // A message that arrived before its receive was posted.
    struct Early {
        std::uint64_t group = 0;
        std::uint32_t channel = 0;
        bool offered = false;
        std::uint64_t bytes = 0;
        Elsewhere where{};
        std::unique_ptr<std::byte[]> data;
    };
    struct Peer {
        FifoWriter<Platform> to;
        FifoReader<Platform> from;
        Doorbell<Platform>* doorbell = nullptr;
        int pipe = -1;  // to wake it, if it sleeps at one
        pid_t process = 0;
        int rank = 0;
        bool copies_directly = false;
        bool announced = false;           // is among announced_
        std::vector<Pending*> posted;     // receives without a message, in order
        std::vector<Pending*> receiving;  // receives that have met an offer
        std::vector<Pending*> offered;    // sends of long messages
        std::deque<Pending*> waiting;     // sends without room in the FIFO, in order
        std::deque<Early> early;
        std::unique_ptr<TransferChoice> choice;  // for what is received; made for the first long message
    };

    Peer& peer_of(int local_rank) { return peers_[static_cast<std::size_t>(local_rank)]; }
    std::uint32_t chunks_of(std::uint64_t bytes) const {
        const std::uint64_t chunk = geometry_.chunk_of(bytes);
        return static_cast<std::uint32_t>((bytes + chunk - 1) / chunk);
    }
    void complete(Pending& message) {
        message.state = Pending::State::complete;
        message.completed = ++completed_;
    }
    std::uint32_t pieces_of(std::uint64_t bytes) const {
        return static_cast<std::uint32_t>((bytes + eager_limit_ - 1) / eager_limit_);
    }
    bool out_of_patience(Pending& message) const {
        const std::uint64_t now = Platform::nanoseconds();
        if (message.in_vain == 0) message.in_vain = now;
        return now - message.in_vain >= geometry_.patience;
    }
    void check_usable() {
        if (given_up_.load(std::memory_order_acquire)) refuse();
    }

    Pending& take(int local_rank, std::uint64_t bytes, Link::Transfer& transfer) {
        Pending& message = messages_.take();
        message = {};
        message.local_rank = local_rank;
        message.bytes = bytes;
        transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
        return message;
    }

    void announce(Peer& peer) {
        if (!std::exchange(peer.announced, true)) announced_.push_back(&peer);
    }

    void ring_doorbells() {
        publish_news<Platform>();
        for (Peer* const peer : announced_) {
            peer->announced = false;
            ring(*peer->doorbell, peer->pipe);
        }
        announced_.clear();
    }

    // Puts the message, or its offer, into the FIFO. Returns false if there is no room.
    bool put(Peer& peer, Pending& message) {
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

    // Copies a whole message to its receive.
    void deliver(Pending& message, const std::byte* data, std::uint64_t bytes) {
        complete(message);
        if (bytes > message.bytes)
            message.state = Pending::State::too_long;
        else if (bytes > 0)
            std::memcpy(message.target, data, bytes);
    }

    // Reads all messages in the FIFO of a peer.
    void read(Peer& peer) {
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
    bool advance_sends(Peer& peer) {
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

    [[noreturn]] void refuse_length(Link::Transfer& transfer) {
        Pending& message = *reinterpret_cast<Pending*>(transfer.handle);
        messages_.release(message);
        transfer = {};
        throw Error(ErrorCode::truncated,
                    "rank {} has sent more than the {} bytes that are expected: ranks disagree on the "
                    "arguments of a collective, or call collectives in different orders",
                    peer_of(message.local_rank).rank, message.bytes);
    }

    // Whether a test might advance now.
    bool has_events() {
        if (given_up_.load(std::memory_order_acquire)) return true;
        for (Peer* const peer : sending_) {
            // The receiver does not ring when there is room again.
            if (!peer->waiting.empty()) return true;
            for (const Pending* message : peer->offered) {
                const Ticket& ticket = peer->to.ticket(message->ticket);
                const std::uint32_t state = ticket.state.load(std::memory_order_acquire);
                const std::uint32_t claimed = ticket.claimed.load(std::memory_order_relaxed);
                if (state == Ticket::closed) return true;
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

    [[noreturn]] void refuse() {
        const std::lock_guard lock(why_mutex_);
        throw Error(ErrorCode::link, why_);
    }

    [[noreturn]] void fail(const std::string& why) {
        give_up(why);
        refuse();
    }

    // Long messages.

    // Chooses the way that a receive asks for.
    void choose_way(Peer& peer, Pending& message) {
        message.in_pieces = !peer.copies_directly || message.bytes <= geometry_.max_in_pieces;
        if (!peer.copies_directly || !geometry_.measures_ways) return;
        if (peer.choice == nullptr) peer.choice = std::make_unique<TransferChoice>(geometry_.max_in_pieces);
        const auto [way, timed] = peer.choice->next(message.bytes);
        message.in_pieces = way == Way::pieces;
        if (timed) message.opened = Platform::nanoseconds();
    }

    // A receive meets an offer.
    void begin_receiving(Peer& peer, Pending& message, std::uint64_t bytes, const Elsewhere& where) {
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
        ticket.state.store(message.in_pieces ? Ticket::wants_pieces : Ticket::shared,
                           std::memory_order_release);
        // A message of one chunk needs no help from its sender.
        if (message.in_pieces || bytes >= 2 * geometry_.chunk) announce(peer);
    }

    void complete_receive(Peer& peer, Pending& message, Ticket& ticket) {
        ticket.state.store(Ticket::closed, std::memory_order_release);
        announce(peer);
        std::erase(peer.receiving, &message);
        complete(message);
        if (message.opened == 0) return;
        peer.choice->took(message.bytes, message.in_pieces ? Way::pieces : Way::direct,
                          Platform::nanoseconds() - message.opened);
    }

    void add_piece(Peer& peer, const Slot& slot) {
        const std::uint32_t number = Reader::elsewhere(slot).ticket;
        const auto found = std::ranges::find_if(peer.receiving, [&](const Pending* message) {
            return message->ticket == static_cast<int>(number);
        });
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
    void look_for_end(Peer& peer, Pending& message) {
        Ticket& ticket = peer.from.ticket(static_cast<std::uint32_t>(message.ticket));
        if (message.moved + ticket.copied.load(std::memory_order_acquire) == pieces_of(message.bytes))
            complete_receive(peer, message, ticket);
    }

    // Releases the lock while it copies; the message stays valid until this chunk is counted.
    void copy_chunk(Peer& peer, Pending& message, std::uint64_t target, std::uint64_t at,
                    std::uint64_t bytes) {
        if (shared_) mutex_.unlock();
        const int error =
            message.sends
                ? Platform::copy_to(peer.process, target + at, message.source + at, bytes)
                : Platform::copy_from(peer.process, message.offered_at + at, message.target + at, bytes);
        if (shared_) mutex_.lock();
        if (error == 0) return;
        if (error == ESRCH) fail(fmt::format("rank {} has ended", peer.rank));
        // The system permitted copies when the job started.
        const bool refused = error == EPERM || error == EACCES || error == ENOSYS;
        fail(fmt::format(
            "copying {} bytes {} the memory of rank {} by {}: {}{}", bytes, message.sends ? "to" : "from",
            peer.rank, message.sends ? "process_vm_writev" : "process_vm_readv", std::strerror(error),
            refused ? "; it was permitted when the job started: has the process changed its user, or "
                      "its system-call filter? LAPWING_TRANSFER=processor sends all long messages "
                      "through shared memory"
                    : ""));
    }

    // Copies unclaimed chunks, in either direction. Returns true if all are copied.
    bool copy_chunks(Peer& peer, Pending& message, Ticket& ticket) {
        const std::uint32_t chunks = chunks_of(message.bytes);
        while (peer.copies_directly && ticket.claimed.load(std::memory_order_relaxed) < chunks) {
            const std::uint32_t mine = ticket.claimed.fetch_add(1, std::memory_order_relaxed);
            if (mine >= chunks) break;
            const std::uint64_t chunk = geometry_.chunk_of(message.bytes);
            const std::uint64_t at = mine * chunk;
            const std::uint64_t bytes = std::min(chunk, message.bytes - at);
            const std::uint64_t target = message.sends ? ticket.target.load(std::memory_order_relaxed) : 0;
            copy_chunk(peer, message, target, at, bytes);
            ticket.copied.fetch_add(1, std::memory_order_release);
            announce(peer);
        }
        return ticket.copied.load(std::memory_order_acquire) == chunks;
    }

    // While the other side is busy, this side copies some unclaimed pieces; only a few at once, since it has
    // messages of its own to send. Returns how many it has copied.
    std::uint32_t copy_pieces(Peer& peer, Pending& message, Ticket& ticket) {
        const std::uint32_t pieces = pieces_of(message.bytes);
        if (ticket.claimed.load(std::memory_order_relaxed) >= pieces) return 0;
        const auto some =
            static_cast<std::uint32_t>(std::max<std::uint64_t>(1, geometry_.chunk / 4 / eager_limit_));
        const std::uint32_t first = ticket.claimed.fetch_add(some, std::memory_order_relaxed);
        if (first >= pieces) return 0;
        const std::uint64_t at = first * eager_limit_;
        const std::uint64_t bytes = std::min(some * eager_limit_, message.bytes - at);
        const std::uint64_t target = message.sends ? ticket.target.load(std::memory_order_relaxed) : 0;
        copy_chunk(peer, message, target, at, bytes);
        const std::uint32_t copied = std::min(some, pieces - first);
        message.moved += copied;
        return copied;
    }

    void advance_receive(Peer& peer, Pending& message) {
        Ticket& ticket = peer.from.ticket(static_cast<std::uint32_t>(message.ticket));
        if (message.in_pieces) {
            if (peer.copies_directly && out_of_patience(message)) copy_pieces(peer, message, ticket);
            // The sender may have copied the last pieces, even if this side may not copy.
            look_for_end(peer, message);
        } else if (copy_chunks(peer, message, ticket)) {
            complete_receive(peer, message, ticket);
        }
    }

    void send_pieces(Peer& peer, Pending& message, Ticket& ticket) {
        const std::uint32_t pieces = pieces_of(message.bytes);
        // A claimed piece must be sent: the other side does not take it.
        while (ticket.claimed.load(std::memory_order_relaxed) < pieces && peer.to.has_room(eager_limit_)) {
            const std::uint32_t mine = ticket.claimed.fetch_add(1, std::memory_order_relaxed);
            if (mine >= pieces) break;
            const std::uint64_t at = mine * eager_limit_;
            peer.to.piece(message.ticket, at, message.source + at,
                          std::min(eager_limit_, message.bytes - at));
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
    void advance_send(Peer& peer, Pending& message) {
        Ticket& ticket = peer.to.ticket(message.ticket);
        switch (ticket.state.load(std::memory_order_acquire)) {
            case Ticket::shared:
                if (copy_chunks(peer, message, ticket)) break;
                return;
            case Ticket::wants_pieces:
                send_pieces(peer, message, ticket);
                if (message.moved == pieces_of(message.bytes)) break;
                // The receiver has claimed the rest, or may.
                return;
            case Ticket::closed:
                break;
            default:
                return;
        }
        peer.to.release(message.ticket);
        complete(message);
    }

    std::vector<Peer> peers_;
    Geometry geometry_;
    std::uint64_t eager_limit_ = 0;
    Doorbell<Platform>& doorbell_;
    int own_pipe_ = -1;
    std::vector<Peer*> announced_;  // with something new since the last flush()
    std::vector<Peer*> sending_;    // with sends that are not complete
    ObjectPool<Pending> messages_;
    std::atomic<bool> given_up_{false};
    std::mutex why_mutex_;
    std::string why_;
    // If several threads use it:
    bool shared_ = false;
    typename Platform::Mutex mutex_;
    std::uint64_t completed_ = 0;        // messages, so far
    std::uint64_t known_completed_ = 0;  // of which the progress thread has seen
};

extern template class Protocol<Linux>;

}  // namespace lapwing::shm
