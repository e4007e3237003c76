// How a thread waits for lists, whoever asks it to: it looks again and again, then yields, then sleeps.
//
// Looking at once is fastest while the answer is on its way. Yielding lets the ranks run that it waits for,
// where they share its processor. Sleeping leaves the processor to others, and costs a wake-up.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/trace.hpp"

namespace lapwing {

class WaitStrategy {
  public:
    using nanoseconds = std::chrono::nanoseconds;

    // About as long as a message and its answer take on Ethernet: who sleeps earlier pays for a wake-up that
    // it does not need.
    static constexpr nanoseconds spin_time{60'000};
    // Looks in memory take some 10 ns: so many are a third of the spin time.
    static constexpr std::uint64_t looks_before_yield = 2000;
    // Reading the clock takes as long as a look in memory, so not after each of them; where others wait for
    // the processor, more often; and a look by system calls takes a microsecond or more.
    static constexpr std::uint64_t looks_per_clock = 64;
    static constexpr std::uint64_t looks_per_clock_oversubscribed = 8;
    static constexpr std::uint64_t looks_per_clock_in_kernel = 4;
    // A sleep begins short, since the end is most likely near, and doubles. What only this thread's
    // looks move waits for its end.
    static constexpr nanoseconds shortest_sleep{50'000};
    static constexpr nanoseconds longest_sleep{1'000'000};

    struct Situation {
        bool oversubscribed = false;   // those it waits for may need this processor
        bool looks_in_kernel = false;  // a look takes system calls
        bool may_sleep = true;         // something wakes it up
    };
    enum class Step { look, yield, sleep };
    // After an unsuccessful look.
    Step after_look(const Situation& situation);
    std::uint64_t looks() const { return looks_; }

    // Sleeps by `how(limit)`, which says what has ended the sleep, for `longest` at most.
    template <typename How>
    void sleep(nanoseconds longest, How how) {
        const nanoseconds limit = next_sleep(longest);
        if (!trace::on()) {
            how(limit);
            return;
        }
        const std::uint64_t began = trace::now();
        const trace::WakeUp woken_by = how(limit);
        record(began, woken_by);
    }

  private:
    nanoseconds next_sleep(nanoseconds longest);
    void record(std::uint64_t began, trace::WakeUp woken_by);

    std::uint64_t looks_ = 0;
    std::uint64_t began_ = 0;  // by the clock of traces; 0: it has not been read
    nanoseconds last_sleep_{0};
};

// Sleeps until one of these descriptors is readable, or until the limit; those below 0 are passed over.
trace::WakeUp sleep_at(const std::vector<int>& descriptors, std::chrono::nanoseconds limit);

}  // namespace lapwing
