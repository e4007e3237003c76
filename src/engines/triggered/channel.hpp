// Memory and counters through which the ranks of a group write the messages of lists to each other. The first
// run of a pair of ranks makes them; both ranks announce them by an ordinary message.
//
// The lists of a group share one channel, where messages land in slots. A persistent list has a channel of
// its own: what it receives into `out` lands there, at each start in the same place, and the rest in a slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engines/triggered/deferred_work.hpp"
#include "engines/triggered/ledger.hpp"
#include "engines/triggered/schedule.hpp"
#include "links/link.hpp"

namespace lapwing::triggered {

// Messages by which ranks announce their memory to each other before the first write, over an ordinary link.

// The address of a process in the network. Part of a message, byte for byte.
struct Contact {
    static constexpr std::size_t max_bytes = 256;
    std::uint64_t bytes = 0;
    std::byte address[max_bytes] = {};

    static Contact of(const DeferredWork& network);
    // Throws Error (link).
    std::uint64_t reach(DeferredWork& network) const;
};

// Memory of the sender that the receiver may write to. Part of a message, byte for byte.
struct RegionName {
    std::uint64_t key = 0;
    std::uint64_t address = 0;

    static RegionName of(const DeferredWork::Region& region) { return {region.key(), region.address()}; }
    DeferredWork::Target at(std::uint64_t peer) const { return {peer, key, address}; }
};

class Announcements {
  public:
    explicit Announcements(Link& messages) : messages_(messages) {}
    ~Announcements();
    Announcements(const Announcements&) = delete;
    Announcements& operator=(const Announcements&) = delete;

    // Sends `bytes` to the peer, and receives `expected` bytes from it.
    void exchange(std::int32_t peer, std::uint32_t channel, std::vector<std::byte> bytes,
                  std::size_t expected);
    using Take = std::function<void(std::int32_t peer, const std::vector<std::byte>& bytes)>;
    // Advances the messages, and calls `take` for each that has come. Throws Error (link).
    void progress(const Take& take);
    // Drops messages that have not begun: before the end, when the link may have lost its peers.
    void stop() { unsent_.clear(); }
    bool complete() const { return unsent_.empty() && in_flight_.empty(); }

  private:
    struct Announcement {
        std::int32_t peer;
        std::uint32_t channel;
        bool receives;
        std::vector<std::byte> bytes;
        Link::Transfer transfer = {};
    };
    using All = std::vector<std::unique_ptr<Announcement>>;

    Link& messages_;
    All unsent_;  // sends and receives that have not begun
    All in_flight_;
};

class Channel final : public SlotCounters {
  public:
    // Counters restart above `limit`. Network and link must outlive the channel.

    // The channel that lists share. A slot has `slot_bytes`.
    Channel(DeferredWork& network, Link& messages, std::uint64_t limit, std::uint64_t slot_bytes);
    // The channel of one persistent list. It announces its memory on channel `number` of the link, which no
    // other list has. Makes all of its counters. Throws Error (system).
    Channel(DeferredWork& network, Link& messages, std::uint64_t limit, const Schedule& schedule,
            std::uint32_t number);

    // Counters of a pair of ranks in the shared channel, and of the channel of a persistent list.
    static constexpr std::uint64_t counters_of_pair = 4;
    static std::uint64_t counters_of(const Schedule& schedule);

    bool is_persistent() const { return number_.has_value(); }
    // Call it before each run. Announces memory to peers that do not have it yet. All runs of a persistent
    // list must have the same `out`. Throws Error (system, internal).
    void open(const Schedule& schedule, std::byte* out);
    // No run follows: peers cannot write into `out` any more.
    void close();
    // Advances announcements. Throws Error (link).
    void progress();
    // Whether all peers of the schedule have announced their memory.
    bool is_ready(const Schedule& schedule) const;
    Announcements& announcements() { return announcements_; }
    Ledger& ledger() { return ledger_; }

    std::uint64_t read(const SlotCounter& one) override { return counter(one).read(); }
    void set_to_zero(const SlotCounter& one) override { counter(one).set(0); }
    DeferredWork::Counter& counter(const SlotCounter& one);
    // Where the peer's messages land.
    const std::byte* slot(std::int32_t peer, int number) const;
    // Where a write goes, and a credit.
    DeferredWork::Target target(const Write& write, int slot) const;
    DeferredWork::Target credit(std::int32_t peer, int slot) const;

  private:
    struct Names;
    // Where a message of a persistent list lands.
    struct MessageTarget {
        std::uint64_t in_out = 0;  // 1: in out; 0: in the slot
        std::uint64_t offset = 0;
    };
    struct Slot {
        std::unique_ptr<std::byte[]> memory;
        std::unique_ptr<DeferredWork::Counter> landed;
        std::unique_ptr<DeferredWork::Counter> credit;
        // Writes into `counted` regions raise `landed`.
        std::unique_ptr<DeferredWork::Region> counted;
        std::unique_ptr<DeferredWork::Region> uncounted;
        std::unique_ptr<DeferredWork::Region> counted_out;
        std::unique_ptr<DeferredWork::Region> credited;
        // The peer's: [1] is counted.
        DeferredWork::Target to_slot[2];
        DeferredWork::Target to_out[2];
        DeferredWork::Target to_credit;
    };
    struct Peer {
        std::vector<Slot> slots;
        std::uint64_t slot_bytes = 0;
        bool is_announced = false;
        bool is_ready = false;
        std::vector<MessageTarget> targets;  // by message
    };

    void make_slots(Peer& peer, std::uint64_t slot_bytes, bool receives, bool sends);
    void announce(const Exchange& exchange, Peer& peer);
    void take(std::int32_t peer, const std::vector<std::byte>& bytes);
    const Peer& at(std::int32_t peer) const { return peers_.at(peer); }

    DeferredWork& network_;
    const std::optional<std::uint32_t> number_;  // none: shared
    const std::uint64_t slot_bytes_ = 0;         // of a shared slot
    Announcements announcements_;
    Ledger ledger_;
    std::map<std::int32_t, Peer> peers_;
    std::optional<std::byte*> out_;  // none: no run yet, or shared
    std::unique_ptr<DeferredWork::Region> uncounted_out_;
};

}  // namespace lapwing::triggered
