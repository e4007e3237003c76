// The messages of one rank to and from the others of its host: which receive meets which message.
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
    // Another rank of the host, by its number there.
    struct Place {
        Fifo<Platform> to;
        Fifo<Platform> from;
        Doorbell<Platform>* doorbell = nullptr;
        pid_t process = 0;
        int rank = 0;                  // in the job, for messages
        bool copies_directly = false;  // the kernel lets this rank copy
    };
    Protocol(const std::vector<Place>& places, Doorbell<Platform>& own_doorbell);

    void send(int place, std::uint64_t group, std::uint32_t channel, const std::byte* data,
              std::uint64_t bytes, Link::Transfer& transfer);
    void recv(int place, std::uint64_t group, std::uint32_t channel, std::byte* data, std::uint64_t bytes,
              Link::Transfer& transfer);
    bool test(Link::Transfer& transfer);
    // Moves what is on its way and needs this rank.
    void progress() {
        for (std::size_t i = 0; i < sending_.size();) {
            const int place = sending_[i];
            if (move_sends(peer_of(place)))
                std::erase(sending_, place);
            else
                ++i;
        }
        flush();
    }
    // Rings for those who sleep while there is news from here.
    void flush() {
        if (!told_.empty()) ring_doorbells();
    }
    // True when there was news, or a ring.
    bool sleep(long nanoseconds);
    // The same in two steps, of which the second may be beside other calls; see doorbell.hpp.
    std::optional<std::uint32_t> prepare_to_sleep();
    bool sleep_on(std::uint32_t seen, long nanoseconds) {
        return shm::sleep_on(doorbell_, seen, nanoseconds);
    }
    void give_up(const std::string& why);

    // From now on several threads use it: each holds it meanwhile, by hold(). While bytes of a long message
    // are copied another may have it. Nobody sleeps by sleep() then, but one progress thread, by what stands
    // below.
    void share() { shared_ = true; }
    [[nodiscard]] std::unique_lock<typename Platform::Mutex> hold() {
        return shared_ ? std::unique_lock(mutex_) : std::unique_lock<typename Platform::Mutex>();
    }
    // All that is on its way, whoever has asked for it.
    void move_all();
    // Whether move_all() or a test might go on now; also when a message is complete that was not when
    // move_all() began, and nobody has tested since.
    bool has_news_for_progress_thread() { return has_news() || completed_ != known_completed_; }
    // Nobody else waits for what has completed until now.
    void forget_completed() { known_completed_ = completed_; }
    // By every peer that has a choice, what is received from it; why copies are refused by now, if they are.
    std::vector<std::vector<TransferTimes>> transfer_times() const {
        std::vector<std::vector<TransferTimes>> all;
        for (const Peer& peer : peers_)
            if (peer.choice != nullptr) all.push_back(peer.choice->times());
        return all;
    }
    const std::string& why_refused() const { return why_refused_; }
    // Before the first message: the progress thread sleeps in poll(), with the reading end of the pipe that
    // ends in `writer`. When all who do so have said it: the writing ends of theirs, by `open(process,
    // writer)`.
    void sleep_at_pipe(int writer);
    void reach_pipes(const std::function<int(pid_t process, int writer)>& open);
    // Without holding it: whether the others ring here; how often it was rung; to ring; to sleep since then.
    // Who lets them ring looks for news afterwards.
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

    // A send or a receive that is not complete.
    struct Message {
        enum class State { waits, offered, receiving, complete, too_long };
        int place = 0;
        bool sends = false;
        State state = State::waits;
        std::uint64_t group = 0;
        std::uint32_t channel = 0;
        int ticket = -1;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;
        std::uint64_t bytes = 0;
        std::uint64_t moved = 0;       // pieces that this side has sent, got or copied
        std::uint64_t in_vain = 0;     // since when it looks for a piece, or for room for one; 0: it does not
        std::uint64_t offered_at = 0;  // its address in the sender's memory
        bool in_pieces = false;        // how the receiver has opened it, as far as is known
        std::uint64_t opened = 0;      // when, if it is timed; else 0
        int copying = 0;               // threads that copy bytes of it now
        bool failed = false;           // a copy was refused: it begins again
        std::uint64_t completed = 0;   // the how many-th
    };
    // What came before its receive.
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
        int pipe = -1;  // that wakes it, where it sleeps at one
        pid_t process = 0;
        int rank = 0;
        bool copies_directly = false;
        bool told = false;                // news since the last flush()
        std::vector<Message*> posted;     // receives without a message, in order
        std::vector<Message*> receiving;  // that have met an offer
        std::vector<Message*> offered;    // sends whose bytes the receiver is to fetch
        std::deque<Message*> waiting;     // sends that found no room, in order
        std::deque<Early> early;
        std::unique_ptr<TransferChoice> choice;  // of what is received; made for the first long message
    };

    Peer& peer_of(int place) { return peers_[static_cast<std::size_t>(place)]; }
    Message& take(int place, std::uint64_t bytes, Link::Transfer& transfer);
    void tell(Peer& peer, int place);
    void ring_doorbells();
    bool put(Peer& peer, Message& message);
    void begin_receiving(Peer& peer, Message& message, std::uint64_t bytes, const Elsewhere& where);
    void deliver(Message& message, const std::byte* data, std::uint64_t bytes);
    void add_piece(Peer& peer, const Slot& slot);
    void read(Peer& peer);
    std::uint32_t chunks_of(std::uint64_t bytes) const {
        const std::uint64_t chunk = geometry_.chunk_of(bytes);
        return static_cast<std::uint32_t>((bytes + chunk - 1) / chunk);
    }
    void complete(Message& message) {
        message.state = Message::State::complete;
        message.completed = ++completed_;
    }
    std::uint32_t pieces_of(std::uint64_t bytes) const {
        return static_cast<std::uint32_t>((bytes + eager_limit_ - 1) / eager_limit_);
    }
    void choose_way(Peer& peer, Message& message);
    void complete_receive(Peer& peer, Message& message, Ticket& ticket);
    bool out_of_patience(Message& message) const {
        const std::uint64_t now = Platform::nanoseconds();
        if (message.in_vain == 0) message.in_vain = now;
        return now - message.in_vain >= geometry_.patience;
    }
    void look_for_end(Peer& peer, Message& message);
    std::uint32_t copy_pieces(Peer& peer, Message& message, Ticket& ticket);
    void send_pieces(Peer& peer, Message& message, Ticket& ticket);
    bool copy_chunks(Peer& peer, Message& message, Ticket& ticket);
    bool copy_chunk(Peer& peer, Message& message, std::uint64_t target, std::uint64_t at,
                    std::uint64_t bytes);
    // Of a receive: copies are needed that the system refuses, and none is on its way.
    bool must_refuse(const Peer& peer, const Message& message, std::uint32_t state) const {
        return (state == Ticket::shared || state == Ticket::wants_pieces) && message.copying == 0 &&
               (message.failed || (!message.in_pieces && !peer.copies_directly));
    }
    bool all_chunks_copied(const Message& message, const Ticket& ticket) const {
        return !message.in_pieces &&
               ticket.copied.load(std::memory_order_acquire) == chunks_of(message.bytes);
    }
    bool begin_again(Peer& peer, Message& message, Ticket& ticket);
    void stop_sending(Peer& peer, Message& message, Ticket& ticket);
    void go_on_receiving(Peer& peer, Message& message);
    void go_on_sending(Peer& peer, Message& message);
    bool move_sends(Peer& peer);
    [[noreturn]] void refuse_length(Link::Transfer& transfer);
    bool has_news();
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
    std::vector<int> told_;
    std::vector<int> sending_;  // places with sends that are not complete
    ObjectPool<Message> messages_;
    std::atomic<bool> given_up_{false};
    std::mutex why_mutex_;
    std::string why_;
    std::string why_refused_;
    // Where several threads use it:
    bool shared_ = false;
    typename Platform::Mutex mutex_;
    std::uint64_t completed_ = 0;        // messages, so far
    std::uint64_t known_completed_ = 0;  // to the progress thread
};

extern template class Protocol<Linux>;

}  // namespace lapwing::shm
