// Which slots and which counts a run uses of each pair of ranks, and when they may be used again. Data in,
// data out: the caller supplies the values of counters.
//
// A pair has slots in each direction, which its runs use in turn. Each slot has a landing counter at the
// receiver and a credit counter at the sender. A run may write into a slot when the receiver has given it a
// credit. So nothing lands early, and the counts of two runs never mix, whichever rank is faster.
//
// - Runs that share a channel (Credits::at_end) have two slots. Each begins with one credit; the receiver
//   gives the next one when it has consumed what the slot held.
// - A persistent list (Credits::at_begin) has one slot, and one run in flight. Its messages land in the
//   caller's memory, which is the program's between two runs: the receiver gives a credit when it begins a
//   run. Pairs whose messages are all empty need none, because nothing lands in memory and the order of
//   messages keeps runs apart: a barrier costs no credits, although a peer may be runs ahead.
//
// Counters only rise, so that none is reset while somebody may raise it. Before they reach the maximum that
// the network can count, they restart at 0 when no rank can raise them: a landing counter before its credit
// is given, a credit counter when all credits have come. A pair without credits gives one for the restart of
// its landing counter; the sender counts along, and waits for it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engines/triggered/schedule.hpp"
#include "engines/triggered/works.hpp"

namespace lapwing::triggered {

// A counter of a pair.
struct SlotCounter {
    Counter::Kind kind = Counter::Kind::landed;  // or credit
    std::int32_t peer = -1;
    int slot = 0;
};

class SlotCounters {
  public:
    virtual ~SlotCounters() = default;
    virtual std::uint64_t read(const SlotCounter& counter) = 0;
    virtual void set_to_zero(const SlotCounter& counter) = 0;
};

// What a run uses of the pair with a peer.
struct Use {
    bool receives = false;
    int slot_in = 0;
    std::uint64_t landed_before = 0;  // the landing counter before any message of the run has landed
    std::uint64_t landed_after = 0;   // after all of them
    bool gives_credit = false;        // to the peer, once: at the begin or at the end
    bool sends = false;
    int slot_out = 0;
    std::uint64_t credit = 0;  // the credit counter at which the run may write into the slot
    bool ready = false;        // the run may write at once
};
using Uses = std::map<std::int32_t, Use>;

enum class Credits : std::uint8_t { at_end, at_begin };

class Ledger {
  public:
    // Counters restart above `limit`; all of them are `first` when the pair is made.
    Ledger(Credits credits, std::uint64_t limit, std::uint64_t first = 0)
        : credits_(credits), limit_(limit), first_(first) {}

    int slots() const { return credits_ == Credits::at_end ? 2 : 1; }

    // A run begins to receive, then to send, each time in the order of starts. It must not do so while a
    // counter that it uses has to restart: runs that follow each other without a gap would leave no moment
    // for that.
    bool can_begin(const Schedule& schedule);
    // Credits at the begin are given after this.
    Uses begin(const Schedule& schedule, SlotCounters& counters);
    bool can_send(const Schedule& schedule, SlotCounters& counters);
    void send(const Schedule& schedule, Uses& uses, SlotCounters& counters);
    // All messages of the run have landed and been consumed. Credits at the end are given after this.
    void end(const Uses& uses, SlotCounters& counters);

    // The value of the counter at which a work of the run happens.
    static std::uint64_t threshold(const Uses& uses, const Trigger& trigger);

  private:
    struct In {
        std::uint64_t landed = 0;  // the counter when all runs begun until now are over
        std::uint64_t in_flight = 0;
    };
    struct Out {
        std::uint64_t credits = 0;  // the counter when the peer has given all credits for runs until now
        std::uint64_t landed = 0;   // the peer's landing counter when these runs are over
    };
    struct Pair {
        std::vector<In> in;
        std::vector<Out> out;
        std::uint64_t runs_in = 0;
        std::uint64_t runs_out = 0;
    };

    Pair& pair(std::int32_t peer);
    bool needs_credit(const Exchange& exchange, const Out& out) const;
    // The credit counter at which the next run may write.
    std::uint64_t next_credit(const Out& out) const;
    void restart_landing(In& in, const SlotCounter& counter, SlotCounters& counters) const;
    template <typename Slot>
    static int next_slot(const std::vector<Slot>& slots, std::uint64_t runs) {
        return static_cast<int>(runs % slots.size());
    }

    const Credits credits_;
    const std::uint64_t limit_;
    const std::uint64_t first_;
    std::map<std::int32_t, Pair> pairs_;
};

}  // namespace lapwing::triggered
