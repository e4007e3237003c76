// What the explorer (shm_model_test.cpp) and Relacy (tests/memory_order) run: the protocol of the shared
// memory between a few ranks of a small host. A platform of a test has, besides what the protocol needs:
//
//   Cells                      watches memory outside of words
//   so_far(), pause(so_far)    the thread goes on when others have done something since so_far()
//   fail(why)
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include "links/shm/protocol.hpp"

namespace lapwing::shm {

// Which ranks may copy from and to the memory of others.
struct Direct {
    Direct(bool all) : first(all), others(all) {}
    Direct(bool rank_0, bool all_others) : first(rank_0), others(all_others) {}
    bool first, others;
};

// Rank 0 sends messages of these lengths to all others, which send one of the first length back.
struct Scenario {
    int ranks = 2;
    std::vector<std::size_t> lengths;
    Geometry geometry;
    Direct direct = true;
    bool sleeps = true;
    bool helped = false;         // rank 0 has a progress thread, which waits in its place
    bool answers_first = false;  // rank 0 waits for the answers before it waits for its sends

    int threads() const { return helped ? 3 : ranks; }
};

inline constexpr Geometry tiny{.slots = 2, .payload = 256, .tickets = 1, .chunk = 80, .max_in_pieces = 0};
// Receivers copy themselves whenever there is no piece.
inline constexpr Geometry mixed{.slots = 2, .payload = 256, .tickets = 1, .chunk = 80, .patience = 0};

// A FIFO in memory of its own, with the words that the platform wants constructed.
template <typename Platform>
class OwnFifo {
  public:
    OwnFifo(const Geometry& geometry, typename Platform::Cells& cells)
        : memory_(new (std::align_val_t(128)) std::byte[Fifo<Platform>::bytes(geometry)]()),
          fifo(Fifo<Platform>::at(memory_.get(), geometry)) {
        std::construct_at(fifo.consumed);
        for (std::uint32_t i = 0; i < geometry.tickets; ++i) std::construct_at(fifo.tickets + i);
        for (std::uint64_t i = 0; i < geometry.slots; ++i) std::construct_at(fifo.slots + i);
        cells.watch(fifo.slots, geometry.slots * sizeof(Slot<Platform>), sizeof(Slot<Platform>));
        cells.watch(fifo.payload, geometry.payload, cache_line);
    }
    ~OwnFifo() {
        std::destroy_at(fifo.consumed);
        std::destroy_n(fifo.tickets, fifo.geometry.tickets);
        std::destroy_n(fifo.slots, fifo.geometry.slots);
    }
    OwnFifo(const OwnFifo&) = delete;
    OwnFifo& operator=(const OwnFifo&) = delete;

  private:
    struct Free {
        void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(128)); }
    };
    std::unique_ptr<std::byte[], Free> memory_;

  public:
    const Fifo<Platform> fifo;
};

// A message in its sender's or receiver's memory.
template <typename Platform>
struct Buffer {
    Buffer(std::size_t length, typename Platform::Cells& cells) : bytes(length) {
        cells.watch(bytes.data(), std::max<std::size_t>(length, 1), 8);
    }
    static std::byte byte(std::size_t at, int number) {
        return static_cast<std::byte>(at * 3 + static_cast<std::size_t>(number) * 31 + 1);
    }
    void fill(int number) {
        Platform::writes(bytes.data(), bytes.size());
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte(i, number);
    }
    void expect(int number) const {
        Platform::reads(bytes.data(), bytes.size());
        bool right = true;
        for (std::size_t i = 0; i < bytes.size(); ++i) right = right && bytes[i] == byte(i, number);
        if (!right) Platform::fail("a message is wrong");
    }
    std::vector<std::byte> bytes;
};

// The host of one execution, and what its threads do.
template <typename Platform>
class World {
  public:
    explicit World(const Scenario& scenario)
        : scenario_(scenario), doorbells_(static_cast<std::size_t>(scenario.ranks)) {
        const auto count = static_cast<std::size_t>(scenario.ranks);
        for (std::size_t pair = 0; pair < count * count; ++pair)
            fifos_.push_back(std::make_unique<OwnFifo<Platform>>(scenario.geometry, cells_));
        for (std::size_t rank = 0; rank < count; ++rank) {
            std::vector<typename Protocol<Platform>::Neighbor> neighbors;
            for (std::size_t other = 0; other < count; ++other) {
                neighbors.push_back({fifos_[rank * count + other]->fifo, fifos_[other * count + rank]->fifo,
                                     &doorbells_[other], 0, static_cast<int>(other),
                                     rank == 0 ? scenario.direct.first : scenario.direct.others});
            }
            protocols_.push_back(std::make_unique<Protocol<Platform>>(neighbors, doorbells_[rank]));
            std::vector<OwnBuffer>& own = buffers_.emplace_back();
            for (const std::size_t length : scenario.lengths) own.push_back(buffer(length));
            answers_.push_back(buffer(scenario.lengths.front()));
            received_.push_back(buffer(scenario.lengths.front()));
        }
        if (scenario.helped) protocols_[0]->share();
    }

    void run(int thread) {
        if (scenario_.helped && thread == 0) return program();
        if (scenario_.helped && thread == 1) return progress_thread();
        if (scenario_.helped) return helped_peer();
        if (thread == 0) return first_rank();
        other_rank(static_cast<std::size_t>(thread));
    }

  private:
    using OwnBuffer = std::unique_ptr<Buffer<Platform>>;

    OwnBuffer buffer(std::size_t length) { return std::make_unique<Buffer<Platform>>(length, cells_); }

    static void send(Protocol<Platform>& from, int to, Buffer<Platform>& message, Link::Transfer& transfer) {
        from.send(to, 1, 0, message.bytes.data(), message.bytes.size(), transfer);
    }
    static void recv(Protocol<Platform>& at, int from, Buffer<Platform>& message, Link::Transfer& transfer) {
        at.recv(from, 1, 0, message.bytes.data(), message.bytes.size(), transfer);
    }
    // The rank sleeps, or tests again when another has done something.
    void wait(Protocol<Platform>& protocol, Link::Transfer& transfer) {
        for (;;) {
            const auto so_far = Platform::so_far();
            if (protocol.test(transfer)) break;
            if (scenario_.sleeps) protocol.sleep(-1);
            Platform::pause(so_far);
        }
    }

    void first_rank() {
        Protocol<Platform>& protocol = *protocols_[0];
        const std::size_t messages = scenario_.lengths.size();
        std::vector<Link::Transfer> transfers;
        transfers.reserve(messages * static_cast<std::size_t>(scenario_.ranks));
        for (std::size_t i = 0; i < messages; ++i) buffers_[0][i]->fill(static_cast<int>(i));
        for (int other = 1; other < scenario_.ranks; ++other)
            for (const OwnBuffer& message : buffers_[0])
                send(protocol, other, *message, transfers.emplace_back());
        protocol.flush();
        // What has been sent is the sender's again.
        const auto end_sends = [&] {
            for (std::size_t i = 0; i < transfers.size(); ++i) {
                wait(protocol, transfers[i]);
                if (i + messages >= transfers.size()) buffers_[0][i % messages]->fill(-1);
            }
        };
        if (!scenario_.answers_first) end_sends();
        for (int other = 1; other < scenario_.ranks; ++other) {
            Buffer<Platform>& answer = *received_[static_cast<std::size_t>(other)];
            Link::Transfer receive;
            recv(protocol, other, answer, receive);
            wait(protocol, receive);
            answer.expect(other);
        }
        if (scenario_.answers_first) end_sends();
    }

    void other_rank(std::size_t rank) {
        Protocol<Platform>& protocol = *protocols_[rank];
        std::vector<Link::Transfer> transfers(scenario_.lengths.size());
        for (std::size_t i = 0; i < transfers.size(); ++i)
            recv(protocol, 0, *buffers_[rank][i], transfers[i]);
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            wait(protocol, transfers[i]);
            buffers_[rank][i]->expect(static_cast<int>(i));
        }
        Buffer<Platform>& answer = *answers_[rank];
        answer.fill(static_cast<int>(rank));
        Link::Transfer sent;
        send(protocol, 0, answer, sent);
        protocol.flush();
        wait(protocol, sent);
        answer.fill(-1);
    }

    // The program starts a message each way and computes; its progress thread completes them. As in
    // engines/progress_thread.cpp.
    bool both_complete() { return protocols_[0]->test(receive_) && protocols_[0]->test(send_); }
    void program() {
        Protocol<Platform>& protocol = *protocols_[0];
        Buffer<Platform>& message = *buffers_[0].front();
        message.fill(0);
        work_.store(1);
        added_.store(1);
        bool complete = false;
        {
            const auto held = protocol.hold();
            recv(protocol, 1, *received_[1], receive_);
            send(protocol, 1, message, send_);
            protocol.flush();
            complete = both_complete();
        }
        bool news = complete;
        if (complete) {
            complete_.store(1);
        } else {
            work_.store(0);
            protocol.let_ring(true);
            const auto held = protocol.hold();
            news = protocol.has_events_for_progress_thread();
        }
        if (news) protocol.ring_here();
        for (;;) {
            const auto so_far = Platform::so_far();
            if (complete_.load() != 0) break;
            Platform::pause(so_far);
        }
        received_[1]->expect(1);
        message.fill(-1);
    }
    void progress_thread() {
        Protocol<Platform>& protocol = *protocols_[0];
        for (int in_vain = 0;;) {
            const auto so_far = Platform::so_far();
            const std::uint32_t rings = protocol.rings();
            if (complete_.load() != 0) break;
            {
                const auto held = protocol.hold();
                protocol.move_all();
            }
            bool again = false;
            if (added_.load() != 0) {
                again = work_.exchange(1) != 0;
                if (!again) {
                    const auto held = protocol.hold();
                    if (both_complete()) break;
                    work_.store(0);
                }
            }
            {
                const auto held = protocol.hold();
                again = protocol.has_events_for_progress_thread() || again;
            }
            if (!again) {
                in_vain = 0;
                protocol.sleep_since(rings, -1);
            } else if (++in_vain > 3) {
                Platform::pause(so_far);
            }
        }
        complete_.store(1);
    }
    void helped_peer() {
        Protocol<Platform>& protocol = *protocols_[1];
        answers_[1]->fill(1);
        Link::Transfer sent, received;
        send(protocol, 0, *answers_[1], sent);
        protocol.flush();
        recv(protocol, 0, *buffers_[1].front(), received);
        wait(protocol, received);
        wait(protocol, sent);
        buffers_[1].front()->expect(0);
    }

    const Scenario& scenario_;
    typename Platform::Cells cells_;
    std::vector<std::unique_ptr<OwnFifo<Platform>>> fifos_;
    std::vector<Doorbell<Platform>> doorbells_;
    std::vector<std::unique_ptr<Protocol<Platform>>> protocols_;
    std::vector<std::vector<OwnBuffer>> buffers_;  // by rank; those of rank 0 are sent
    std::vector<OwnBuffer> answers_;
    std::vector<OwnBuffer> received_;  // by rank 0, from each
    // Of the program and its progress thread.
    Link::Transfer send_, receive_;
    Word<Platform, std::uint32_t> added_, work_, complete_;
};

}  // namespace lapwing::shm
