// The messages between one rank and the others of its host: matches receives with messages.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/object_pool.hpp"
#include "links/link.hpp"
#include "links/shm/doorbell.hpp"
#include "links/shm/fifo.hpp"
#include "links/shm/platform.hpp"
#include "links/shm/transfer_choice.hpp"

namespace lapwing::shm {

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
    Protocol(const std::vector<Neighbor>& neighbors, Doorbell<Platform>& own_doorbell);

    void send(int local_rank, std::uint64_t group, std::uint32_t channel, const std::byte* data,
              std::uint64_t bytes, Link::Transfer& transfer);
    void recv(int local_rank, std::uint64_t group, std::uint32_t channel, std::byte* data,
              std::uint64_t bytes, Link::Transfer& transfer);
    bool test(Link::Transfer& transfer);
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
    bool sleep(long nanoseconds);
    // The same in two steps; the second needs no lock. See doorbell.hpp.
    std::optional<std::uint32_t> prepare_to_sleep();
    bool sleep_on(std::uint32_t seen, long nanoseconds) {
        return shm::sleep_on(doorbell_, seen, nanoseconds);
    }
    void give_up(const std::string& why);

    // Lets several threads use the protocol, each under the lock of hold(). The lock is released while bytes
    // of a long message are copied. No thread may use sleep() then; one progress thread sleeps by the
    // functions below.
    void share() { shared_ = true; }
    [[nodiscard]] std::unique_lock<typename Platform::Mutex> hold() {
        return shared_ ? std::unique_lock(mutex_) : std::unique_lock<typename Platform::Mutex>();
    }
    // Advances all sends and receives.
    void move_all();
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
    void sleep_at_pipe(int writer);
    // When all ranks have called sleep_at_pipe(): opens the writing ends of their pipes by `open`.
    void reach_pipes(const std::function<int(pid_t process, int writer)>& open);
    // These need no lock. The caller of let_ring(true) must check has_events_for_progress_thread()
    // afterwards.
    void let_ring(bool on);
    std::uint32_t rings() const { return doorbell_.rings.load(std::memory_order_acquire); }
    void ring_here();
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
    Pending& take(int local_rank, std::uint64_t bytes, Link::Transfer& transfer);
    void announce(Peer& peer);
    void ring_doorbells();
    bool put(Peer& peer, Pending& message);
    void begin_receiving(Peer& peer, Pending& message, std::uint64_t bytes, const Elsewhere& where);
    void deliver(Pending& message, const std::byte* data, std::uint64_t bytes);
    void add_piece(Peer& peer, const Slot& slot);
    void read(Peer& peer);
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
    void choose_way(Peer& peer, Pending& message);
    void complete_receive(Peer& peer, Pending& message, Ticket& ticket);
    bool out_of_patience(Pending& message) const {
        const std::uint64_t now = Platform::nanoseconds();
        if (message.in_vain == 0) message.in_vain = now;
        return now - message.in_vain >= geometry_.patience;
    }
    void look_for_end(Peer& peer, Pending& message);
    std::uint32_t copy_pieces(Peer& peer, Pending& message, Ticket& ticket);
    void send_pieces(Peer& peer, Pending& message, Ticket& ticket);
    bool copy_chunks(Peer& peer, Pending& message, Ticket& ticket);
    void copy_chunk(Peer& peer, Pending& message, std::uint64_t target, std::uint64_t at,
                    std::uint64_t bytes);
    void advance_receive(Peer& peer, Pending& message);
    void advance_send(Peer& peer, Pending& message);
    bool advance_sends(Peer& peer);
    [[noreturn]] void refuse_length(Link::Transfer& transfer);
    bool has_events();
    [[noreturn]] void fail(const std::string& why);
    void check_usable() {
        if (given_up_.load(std::memory_order_acquire)) refuse();
    }
    [[noreturn]] void refuse();

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
