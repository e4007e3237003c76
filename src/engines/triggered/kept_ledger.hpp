// The counts of a list that keeps its buffers: of a persistent collective. Data in, data out, as the ledger
// of slots.
//
// Its messages land in the caller's memory, which is the program's between two runs. So each run of a rank
// begins with a credit to each peer that writes there, and a write waits for the credit of its run. One run
// of a list is in flight at a time, and a peer writes for a run only when this rank has begun it: counts of
// two runs do not mix, and there is one slot, not two.
//
// Where all messages of a pair are empty nothing lands in memory, and their order keeps runs apart: no credit
// is spent on a barrier, although a peer may be runs ahead.
//
// Before counters reach the end of what the network can count, they begin anew: a landing counter at the
// start of a run, which asks for a credit then, whether or not there are bytes; a credit counter when its
// credit has come. A run waits for that before it sends, not before it gives its own credits: peers may wait
// for these.
#pragma once

#include <cstdint>
#include <map>

#include "engines/triggered/ledger.hpp"
#include "engines/triggered/schedule.hpp"

namespace lapwing::triggered {

class KeptLedger {
  public:
    // As of Ledger.
    explicit KeptLedger(const Schedule& schedule, std::uint64_t limit, std::uint64_t first = 0);

    // A run begins, when the one before is complete. Credits are given after this.
    Uses begin(SlotCounters& counters);
    // Whether it may send. It may not while a credit counter has to begin anew.
    bool can_send(SlotCounters& counters) const;
    void send(Uses& uses, SlotCounters& counters);

  private:
    struct Pair {
        std::uint64_t messages_received = 0;
        std::uint64_t messages_sent = 0;
        bool bytes_received = false;
        bool bytes_sent = false;
        // Of counters, when all runs begun until now are over.
        std::uint64_t landed = 0;   // here
        std::uint64_t sent = 0;     // the peer's landing counter
        std::uint64_t credits = 0;  // from the peer
    };
    bool asks(const Pair& pair) const { return pair.bytes_sent || pair.sent > limit_; }

    const std::uint64_t limit_;
    std::map<std::int32_t, Pair> pairs_;
};

}  // namespace lapwing::triggered
