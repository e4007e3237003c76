// Where the MPI moves messages by itself, polls cost more than they give: each place in the program tries the
// slow pace now and then, and keeps it while that costs less.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "mpi/native/poll_pace.hpp"

namespace lapwing {

// Of one place. Threads that end episodes at once may lose one of them.
class PaceTrials {
  public:
    // For the next episode.
    Pace pace() const {
        const std::uint32_t number = episodes_.load(std::memory_order_relaxed);
        const bool measures_fast = number % episodes_between_measurements == 0;
        return number < next_trial_.load(std::memory_order_relaxed) || measures_fast ? Pace::fast
                                                                                     : Pace::slow;
    }

    // An episode at this pace has cost so many nanoseconds.
    void learn(Pace pace, std::uint64_t cost) {
        const std::uint32_t number = episodes_.fetch_add(1, std::memory_order_relaxed);
        if (number == 0) return;  // connections were made
        auto& mean = pace == Pace::slow ? slow_cost_ : fast_cost_;
        // A late rank must not count for long.
        if (const std::uint64_t usual = mean.load(std::memory_order_relaxed); usual != 0)
            cost = (3 * usual + std::min(cost, 2 * usual)) / 4;
        mean.store(cost, std::memory_order_relaxed);
        const std::uint64_t reference =
            std::min(reference_.load(std::memory_order_relaxed), fast_cost_.load(std::memory_order_relaxed));
        if (number + 1 == next_trial_.load(std::memory_order_relaxed))
            reference_.store(reference, std::memory_order_relaxed);
        const bool expensive = pace == Pace::slow && cost > reference - reference / saving_divisor;
        if (!expensive_.exchange(expensive, std::memory_order_relaxed) || !expensive) return;
        // Two expensive episodes are enough: what the slow pace costs here depends on the other ranks' paces,
        // too, and all ranks could settle for the worse.
        expensive_.store(false, std::memory_order_relaxed);
        slow_cost_.store(0, std::memory_order_relaxed);
        next_trial_.store(number + std::clamp(number, min_pause, max_pause), std::memory_order_relaxed);
    }

  private:
    static constexpr std::uint32_t first_trial = 4;
    // The slow pace must save at least an eighth of the cost. Where the slow pace saves less, the polls of
    // the fast one move messages, and what these polls save differs from episode to episode.
    static constexpr std::uint64_t saving_divisor = 8;
    // The slow pace is tried again after as many episodes as there were, within these limits.
    static constexpr std::uint32_t min_pause = 64;
    static constexpr std::uint32_t max_pause = 4096;
    static constexpr std::uint32_t episodes_between_measurements = 16;  // of the fast pace

    std::atomic<std::uint32_t> episodes_{0};
    // The mean cost of an episode at each pace; 0: unknown.
    std::atomic<std::uint64_t> fast_cost_{0};
    std::atomic<std::uint64_t> slow_cost_{0};
    // The least mean cost of the fast pace before a trial. While other ranks try the slow pace, the fast one
    // is expensive for this rank, and the slow one seems cheap.
    std::atomic<std::uint64_t> reference_{~0ULL};
    std::atomic<std::uint32_t> next_trial_{first_trial};  // from this episode on the pace is slow
    std::atomic<bool> expensive_{false};                  // the last episode, at the slow pace
};

}  // namespace lapwing
