// Short messages that their sender writes into the memory of the receiver, which polls it: PTP-RDMA of Graham
// et al. 2010, "Overlapping Computation and Communication: Barrier Algorithms and ConnectX-2 CORE-Direct
// Capabilities".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "links/fabric.hpp"
#include "links/fabric_message.hpp"

namespace lapwing {

// The network beneath inboxes.
class InboxNetwork {
  public:
    // Starts to write to the peer's inboxes. The bytes, which are in this process's memory for inboxes, stay
    // as they are until the peer has them. `message`, which may be null, completes when the network needs no
    // more calls for the write. Returns false if there is no room, or the peer is lost.
    virtual bool put(int peer, const std::byte* bytes, std::uint64_t offset, std::size_t count,
                     FabricMessage* message) = 0;
    virtual bool is_lost(int peer) const = 0;
    // Completes a receive with these bytes, or fails it if it expects another number of bytes.
    virtual void complete_receive(FabricMessage& message, const std::byte* data, std::uint64_t bytes) = 0;

  protected:
    ~InboxNetwork() = default;
};

// Not thread-safe. Each process has one span of memory, known to all peers. In it each peer has an inbox of
// `slots` slots, which it writes in turn, and two words in which it reports in turn how many messages it has
// taken from its inbox of this process.
//
// Networks promise no order between the bytes of a write, except that eight aligned bytes appear at once or
// in order. Each word of a slot therefore carries four bytes of the message, and the generation: how often
// the slot has been written. A message is complete when all of its words have the generation that comes next.
//
// Nor is there an order between writes. A sender takes reports in their order. Who takes `slots` messages
// after a report therefore knows that the report has arrived, and may use its word again.
class Inboxes {
  public:
    static constexpr std::uint64_t max_bytes = 48;  // of a message

    // Of the memory of a process. It must be zero at first, and aligned to cache lines.
    static std::size_t bytes_of_memory(int ranks) {
        return static_cast<std::size_t>(ranks) * 2 * (sizeof(Slot) * slots + sizeof(std::uint64_t) * reports);
    }
    Inboxes(InboxNetwork& network, std::byte* memory, int self, int ranks, const JobKey& key);

    // The caller has set what a fabric's begin() gets. May complete the message or lose its peer.
    void begin(FabricMessage& message);
    // The message has failed or its link ends.
    void abandon(FabricMessage& message);
    // Takes what has arrived, and sends what had no room. Returns true if something has moved.
    bool poll();
    bool has_backlog() const;  // sends and reports that wait for room
    bool has_receives() const { return !busy_.empty(); }

  private:
    static constexpr std::size_t slots = 32;
    static constexpr std::size_t reports = 2;
    struct Header {
        std::uint32_t bytes;
        std::uint32_t channel;
        std::uint64_t group;
    };
    using Part = std::uint32_t;  // of a message; a word has one, and the generation above it
    static constexpr std::size_t header_parts = sizeof(Header) / sizeof(Part);
    static constexpr std::size_t words_of(std::uint64_t bytes) {
        return header_parts + static_cast<std::size_t>((bytes + sizeof(Part) - 1) / sizeof(Part));
    }
    static constexpr std::size_t max_words = header_parts + max_bytes / sizeof(Part);
    struct Slot {
        std::uint64_t words[max_words];
    };
    // A message that has arrived.
    struct Arrival {
        Header header;
        std::byte data[max_bytes];
    };
    struct Peer {
        std::uint64_t sent = 0;
        std::uint64_t taken_there = 0;  // as the peer has reported
        std::uint64_t taken = 0;
        std::uint64_t reported = 0;  // of those taken
        std::uint64_t reports_sent = 0;
        std::uint64_t reports_taken = 0;
        std::deque<FabricMessage*> unsent;   // in order
        std::vector<FabricMessage*> posted;  // receives, in order
        std::deque<Arrival> early;           // in order
        bool busy = false;                   // in busy_
    };

    Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
    bool owes_report(int rank) const;
    void take_reports(int rank);
    bool serve(int rank);
    bool send(FabricMessage& message);
    bool take(int rank, Arrival& arrival);
    std::uint64_t generation(std::uint64_t messages) const;

    InboxNetwork& network_;
    const std::size_t self_;
    const std::uint32_t key_;
    std::vector<Peer> peers_;
    std::vector<int> busy_;  // peers with receives that are posted, or sends that wait for room
    std::size_t turn_ = 0;   // the other peer that was polled last
    // The memory, each by peer. The network sends from the outboxes and from `taken_`.
    Slot* const inboxes_;
    Slot* const outboxes_;
    std::uint64_t* const taken_by_peers_;
    std::uint64_t* const taken_;
};

}  // namespace lapwing
