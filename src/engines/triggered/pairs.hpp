// What this rank and its peers keep for each other in one group: for each pair of ranks two slots in each
// direction, with their counters. The first run of a pair makes them; the two ranks tell each
// other by an ordinary message where they are, and that they are there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engines/triggered/announcements.hpp"
#include "engines/triggered/ends.hpp"
#include "links/deferred_work.hpp"
#include "links/link.hpp"

namespace lapwing::triggered {

class Pair {
  public:
    static constexpr std::uint64_t counters = 4;  // that it takes

    Pair(DeferredWork& network, std::size_t slot_bytes);

    struct Slot {
        std::unique_ptr<std::byte[]> memory;
        std::unique_ptr<DeferredWork::Counter> landed;
        std::unique_ptr<DeferredWork::Counter> credit;
        std::unique_ptr<DeferredWork::Region> counted;  // `memory`, for what counts
        std::unique_ptr<DeferredWork::Region> silent;   // and for the rest
        std::unique_ptr<DeferredWork::Region> credited;
        // The peer's.
        DeferredWork::Target to_counted;
        DeferredWork::Target to_silent;
        DeferredWork::Target to_credited;
    };
    Slot& slot(int number) { return slots_[static_cast<std::size_t>(number)]; }
    bool ready() const { return ready_; }

  private:
    friend class Pairs;

    std::array<Slot, 2> slots_;
    bool ready_ = false;
};

class Pairs final : public Ends {
  public:
    Pairs(DeferredWork& network, Link& messages, std::size_t slot_bytes);
    Pairs(const Pairs&) = delete;
    Pairs& operator=(const Pairs&) = delete;

    // Made when it is asked for.
    Pair& find(std::int32_t peer);
    // Moves what pairs tell each other. Throws Error (link).
    void progress();
    void tell_no_more() { announcements_.tell_no_more(); }
    bool all_told() const { return announcements_.all_told(); }

    DeferredWork::Counter& counter(const SlotCounter& counter) override;
    const std::byte* slot(std::int32_t peer, int slot) override;
    DeferredWork::Target target(const Write& write, int slot) override;
    DeferredWork::Target credit(std::int32_t peer, int slot) override;

  private:
    DeferredWork& network_;
    const std::size_t slot_bytes_;
    std::map<std::int32_t, std::unique_ptr<Pair>> pairs_;
    Announcements announcements_;
};

}  // namespace lapwing::triggered
