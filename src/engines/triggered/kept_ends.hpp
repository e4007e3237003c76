// The pairs of one list that keeps its buffers: where its messages land, at each start in the same place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engines/triggered/announcements.hpp"
#include "engines/triggered/ends.hpp"
#include "engines/triggered/kept_ledger.hpp"
#include "links/deferred_work.hpp"
#include "links/link.hpp"

namespace lapwing::triggered {

class KeptEnds final : public Ends {
  public:
    // Makes its counters. What ranks tell each other goes on `channel`, which no other list has. Throws Error
    // (system).
    KeptEnds(DeferredWork& network, Link& messages, std::shared_ptr<const Schedule> schedule,
             std::uint32_t channel, std::uint64_t limit);

    // The counters that it makes.
    static std::uint64_t counters_of(const Schedule& schedule);

    // Before each run. The first one opens `out` to peers, and tells them; it must be the same for all.
    // Throws Error (system, internal).
    void open(std::byte* out);
    // Moves what peers tell each other; true when they have. Throws Error (link).
    bool ready();
    bool told() const { return announcements_.all_told(); }
    void tell_no_more() { announcements_.tell_no_more(); }
    // No run follows: nobody writes into `out` any more.
    void close();

    DeferredWork::Counter& counter(const SlotCounter& counter) override;
    const std::byte* slot(std::int32_t peer, int slot) override;
    DeferredWork::Target target(const Write& write, int slot) override;
    DeferredWork::Target credit(std::int32_t peer, int slot) override;

    KeptLedger ledger;

  private:
    // Where the peer's message lands, as it is told: offset in its out or in its slot.
    struct Told;
    struct Place {
        std::uint64_t in_out = 0;
        std::uint64_t offset = 0;
    };
    struct End {
        const Exchange* exchange = nullptr;
        std::byte* slot = nullptr;
        std::unique_ptr<DeferredWork::Counter> landed;
        std::unique_ptr<DeferredWork::Counter> credit;
        // For what counts; what does not goes into regions that all peers share.
        std::unique_ptr<DeferredWork::Region> counted_slot;
        std::unique_ptr<DeferredWork::Region> counted_out;
        std::unique_ptr<DeferredWork::Region> credited;
        // The peer's.
        DeferredWork::Target to_slot[2];  // silent, counted
        DeferredWork::Target to_out[2];
        DeferredWork::Target to_credit;
        std::vector<Place> places;
    };

    void tell(std::int32_t peer, End& end);
    void take(std::int32_t peer, const std::vector<std::byte>& bytes);

    DeferredWork& network_;
    const std::shared_ptr<const Schedule> schedule_;
    const std::uint32_t channel_;
    Announcements announcements_;
    bool opened_ = false;
    std::byte* out_ = nullptr;
    std::unique_ptr<std::byte[]> slots_;
    std::map<std::int32_t, End> ends_;
    std::unique_ptr<DeferredWork::Region> silent_slots_;
    std::unique_ptr<DeferredWork::Region> silent_out_;
};

}  // namespace lapwing::triggered
