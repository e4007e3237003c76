// How a thread waits for lists: it polls, then yields between polls, then sleeps.
//
// Polling at once is fastest while the answer is on its way. Yielding lets the ranks run that this thread
// waits for, where they share its processor. Sleeping leaves the processor to others, and costs a wake-up.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/trace.hpp"

namespace lapwing {

// The lengths of successive sleeps: each is twice as long as the one before it.
class Backoff {
  public:
    using nanoseconds = std::chrono::nanoseconds;

    explicit Backoff(nanoseconds shortest) : shortest_(shortest) {}
    nanoseconds next(nanoseconds longest) {
        return last_ = std::clamp(2 * last_, shortest_, std::max(shortest_, longest));
    }
    void restart() { last_ = nanoseconds{0}; }

  private:
    nanoseconds shortest_;
    nanoseconds last_{0};
};

class WaitStrategy {
  public:
    using nanoseconds = std::chrono::nanoseconds;

    // About as long as a message and its answer take on Ethernet. A thread that sleeps earlier pays for a
    // wake-up that it does not need.
    static constexpr nanoseconds spin_time{60'000};
    // A poll of memory takes some 10 ns, so these polls take a third of the spin time.
    static constexpr std::uint64_t polls_before_yield = 2000;
    // Reading the clock takes as long as a poll of memory, so the clock is not read after each of them. It is
    // read more often where others wait for the processor. A poll by system calls takes a microsecond or
    // more.
    static constexpr std::uint64_t polls_per_clock = 64;
    static constexpr std::uint64_t polls_per_clock_oversubscribed = 8;
    static constexpr std::uint64_t polls_per_clock_in_kernel = 4;
    // The first sleep is short, because the end is most likely near. Runs that only this thread advances wait
    // for the end of its sleep.
    static constexpr nanoseconds shortest_sleep{50'000};
    static constexpr nanoseconds max_sleep{1'000'000};

    struct Situation {
        bool oversubscribed = false;   // the ranks that it waits for may need this processor
        bool polls_in_kernel = false;  // a poll makes system calls
        bool may_sleep = true;         // something wakes the thread
    };
    enum class Step { poll, yield, sleep };
    // What to do after a poll without success.
    Step after_poll(const Situation& situation);
    std::uint64_t polls() const { return polls_; }

    // Sleeps by `how(limit)`, which returns what has ended the sleep, for `longest` at most.
    template <typename How>
    void sleep(nanoseconds longest, How how) {
        const nanoseconds limit = sleeps_.next(longest);
        if (!trace::on()) {
            how(limit);
            return;
        }
        const std::uint64_t began = trace::now();
        const trace::WakeUp woken_by = how(limit);
        trace::record({.began = began,
                       .ended = trace::now(),
                       .bytes = static_cast<std::uint64_t>(limit.count()),
                       .index = static_cast<std::uint32_t>(polls_),
                       .what = trace::What::sleep,
                       .kind = static_cast<std::uint8_t>(woken_by)});
    }

  private:
    std::uint64_t polls_ = 0;
    std::uint64_t began_ = 0;  // by the clock of traces; 0 before the clock has been read
    Backoff sleeps_{shortest_sleep};
};

// Sleeps until one of the descriptors is readable or until `limit` passes. A limit below 0 never passes.
// Descriptors below 0 are ignored.
trace::WakeUp sleep_at(std::span<const int> descriptors, std::chrono::nanoseconds limit);

}  // namespace lapwing
