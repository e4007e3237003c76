// Which slot and which counts a run takes of each pair, and when they can be taken again. Data in, data out:
// what counters say comes from the caller.
//
// A pair has two slots in each direction, which its runs use in turn. Each has a landing counter at the
// receiver and a credit counter at the sender. A run may write into a slot when the receiver has consumed
// what the run before the last had put there; the receiver says so by a credit. So nothing lands early, and
// the counts of two runs never mix, whichever of them is faster.
//
// Counters only rise, so that none is reset while somebody may raise it. Before they reach the end of what
// the network can count, they begin anew, at moments when nobody can: a landing counter before its credit is
// given, a credit counter when all credits have come.
#pragma once

#include <array>
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
    std::uint64_t landed_before = 0;  // the landing counter, when nothing of the run has landed
    std::uint64_t landed_after = 0;   // when all of it has
    bool sends = false;
    int slot_out = 0;
    std::uint64_t credit = 0;  // the credit counter, when the peer has consumed what was in the slot
    bool ready = false;        // it has been seen there at the start, or none is needed
    bool gives_credit =
        false;  // of a list that keeps its buffers (kept_ledger.hpp): at its start, to the peer
};
using Uses = std::map<std::int32_t, Use>;

// Of the runs of a group, which all ranks start in the same order.
class Ledger {
  public:
    // Counters begin anew above `limit`; all of them stand at `first` when the pair is made.
    explicit Ledger(std::uint64_t limit, std::uint64_t first = 0) : limit_(limit), first_(first) {}

    // Whether the next run may begin. It may not while a counter that it uses has to begin anew: of runs that
    // follow each other without a gap none would find the moment.
    bool can_begin(const Schedule& schedule, SlotCounters& counters);
    // In the order of the starts.
    Uses begin(const Schedule& schedule, SlotCounters& counters);
    // Everything of the run has landed and been consumed. Each peer that the run received from is to be given
    // its credit after this, not before.
    void end(const Uses& uses, SlotCounters& counters);

    // The value of the counter at which a work of the run happens.
    static std::uint64_t threshold(const Uses& uses, const Trigger& trigger);

  private:
    struct Slot {
        std::uint64_t count = 0;  // of the counter, when all runs begun until now are over
        std::uint64_t runs = 0;
        std::uint64_t in_flight = 0;
    };
    struct Direction {
        std::uint64_t runs = 0;
        std::array<Slot, 2> slots;
    };
    struct Pair {
        Direction in;
        Direction out;
    };

    Pair& pair(std::int32_t peer);
    // The slot of the next run.
    static int next_slot(const Direction& direction) { return static_cast<int>(direction.runs % 2); }
    // Whether the peer has consumed what was in the slot.
    static bool is_ready(const Slot& slot, const SlotCounter& credit, SlotCounters& counters);

    const std::uint64_t limit_;
    const std::uint64_t first_;
    std::map<std::int32_t, Pair> pairs_;
};

}  // namespace lapwing::triggered
