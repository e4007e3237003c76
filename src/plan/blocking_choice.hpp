// Chooses for the blocking collectives of some ranks whether they run as task lists or by the native MPI:
// LAPWING_BLOCKING=auto.
//
// Which way is faster depends on the MPI, the machine, the placement of ranks and the length of blocks, so
// both are measured: the first calls of a collective and class of sizes take both ways in turn. Then the
// ranks add up their times, once, and all take the faster way. Ranks make the same blocking calls in the same
// order, so all of them try the same way at the same time. Communicators with the same ranks share one
// object.
//
// A decision lasts for a number of calls, each longer than the one before. Then the ranks try again: programs
// start with other calls than they go on with, above all of collectives whose lengths only each rank knows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "task/problem.hpp"

namespace lapwing {

class BlockingChoice {
  public:
    enum class Way : std::uint8_t { mpi, lists };
    // A communicator's first calls, which the MPI runs untimed: what a communicator needs before its first
    // list takes longer than lists can save in a few calls.
    static constexpr int untimed_calls = 16;
    static constexpr int warm_ups = 1;  // of each way: connections are made, lists are built
    static constexpr int samples = 5;   // of each way
    static constexpr int trials = 2 * (warm_ups + samples);
    // Lists must be faster by this factor, in so many of the pairs of a call by lists and one by the MPI. Two
    // equal ways are this different by chance once in 13 times; one late call of the five does not matter.
    static constexpr double clearly = 0.95;
    static constexpr std::size_t clear_pairs = samples * (samples - 1);
    static constexpr std::uint64_t first_lasts = 256;  // calls
    static constexpr std::uint64_t next_lasts = 8;     // times as many
    // Nanoseconds of the calls of one way after the other: the MPI's, then the lists'.
    using Times = std::array<double, 2 * samples>;

    // One collective and class of sizes. Each class ends at four times the bytes of the class before.
    class Case {
      public:
        Collective collective() const { return collective_; }
        std::uint64_t max_bytes() const { return max_bytes_; }
        // Before each call and the members below: counts it, and ends a decision that has lasted long enough.
        void next_call();
        // Whether all trials are over and the ranks must add up times().
        bool must_agree() const { return calls_ == trials && !decided_; }
        bool decided() const { return decided_; }
        // The way of the next call.
        Way way() const { return decided_ ? chosen_ : calls_ % 2 == 0 ? Way::mpi : Way::lists; }
        bool timed() const { return !decided_; }
        // After a call that was timed. `taken`: lists ran it, if it was their turn.
        void took(std::uint64_t nanoseconds, bool taken);
        // On this rank. Infinite: no list took the call.
        Times times() const;
        // `sums`: of all ranks' times().
        void decide(const Times& sums);
        // Medians of both ways, by Way, as means of the ranks; valid when decided.
        const std::array<double, 2>& medians() const { return medians_; }

      private:
        friend class BlockingChoice;
        Case(Collective collective, std::uint64_t max_bytes, int ranks)
            : collective_(collective), max_bytes_(max_bytes), ranks_(ranks) {}

        Collective collective_;
        std::uint64_t max_bytes_;
        int ranks_;
        int calls_ = 0;                      // that were timed since the last decision
        std::uint64_t lasts_ = first_lasts;  // the next decision, in calls
        std::uint64_t left_ = 0;             // calls of this decision
        bool decided_ = false;
        bool declined_ = false;
        Way chosen_ = Way::mpi;
        Times times_{};
        std::array<double, 2> medians_{};
    };

    explicit BlockingChoice(int ranks) : ranks_(ranks) {}
    // `bytes` of the problem's block: equal on all ranks, or 0. The case stays valid until the next call.
    Case& find(Collective collective, std::uint64_t bytes);

  private:
    const int ranks_;
    std::vector<Case> cases_;  // the last one used first: programs repeat their calls
};

}  // namespace lapwing
