// How long a program is inside the MPI from its first long stay outside on: what messages cost that did not
// move meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing {

// Nanoseconds of one clock. Threads of the program that call at once leave the time of one of them.
class TimeInCalls {
  public:
    void begin() {
        counts_.store(false, std::memory_order_relaxed);
        since_.store(0, std::memory_order_relaxed);
        time_.store(0, std::memory_order_relaxed);
    }
    // The program calls the MPI. `stayed_away`: for long, before this call. The call that waits may be a
    // later one.
    void enter(std::uint64_t now, bool stayed_away) {
        if (stayed_away) counts_.store(true, std::memory_order_relaxed);
        if (counts()) since_.store(now, std::memory_order_relaxed);
    }
    // The call returns; reads `clock` only if the call counts.
    template <typename Clock>
    void leave(Clock clock) {
        if (const std::uint64_t since = since_.exchange(0, std::memory_order_relaxed); since != 0)
            time_.fetch_add(clock() - since, std::memory_order_relaxed);
    }
    // Whether the program has stayed away for long.
    bool counts() const { return counts_.load(std::memory_order_relaxed); }
    std::uint64_t time() const { return time_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> counts_{false};
    std::atomic<std::uint64_t> since_{0};  // 0: outside, or not counted
    std::atomic<std::uint64_t> time_{0};
};

}  // namespace lapwing
