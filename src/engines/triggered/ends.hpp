// What a run uses of its pairs: counters, memory, and where writes go.
#pragma once

#include <cstdint>

#include "engines/triggered/ledger.hpp"
#include "engines/triggered/schedule.hpp"
#include "links/deferred_work.hpp"

namespace lapwing::triggered {

class Ends : public SlotCounters {
  public:
    std::uint64_t read(const SlotCounter& one) final { return counter(one).read(); }
    void set_to_zero(const SlotCounter& one) final { counter(one).set(0); }

    virtual DeferredWork::Counter& counter(const SlotCounter& counter) = 0;
    // What the peer's messages land in.
    virtual const std::byte* slot(std::int32_t peer, int slot) = 0;
    virtual DeferredWork::Target target(const Write& write, int slot) = 0;
    virtual DeferredWork::Target credit(std::int32_t peer, int slot) = 0;
};

}  // namespace lapwing::triggered
