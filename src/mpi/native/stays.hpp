// The stays of the program outside the MPI: what each place in the program predicts of them, and what the
// calls between them cost. No system calls: the clocks are the caller's.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/native/pace_trials.hpp"
#include "mpi/native/place_table.hpp"
#include "mpi/native/poll_pace.hpp"

namespace lapwing {

class Stays {
  public:
    using Clock = std::uint64_t (*)();  // nanoseconds
    // `spent`: the processor time of Lapwing's thread.
    Stays(Clock now, Clock spent) : now_(now), spent_(spent) {}

    // By threads of the program. A call returns to this address with so many messages in flight. Returns
    // whether the program is going to stay outside for long.
    bool left(const void* site, int messages, std::uint64_t bytes);
    // The program calls again.
    void returned();
    // No message is in flight any more.
    void end_episode();

    // By any thread.
    Pace pace() const { return pace_.load(std::memory_order_relaxed); }
    // Nanoseconds outside.
    std::uint64_t time() const { return time_.load(std::memory_order_relaxed); }

  private:
    // Calls that return to one address with one number of messages, and about so many bytes, in flight. A
    // loop over neighbours starts all its messages at one address: only after the last one the program stays
    // away.
    struct Place {
        std::atomic<std::int8_t> score{1};  // above 0: the program then stays outside for long
        std::atomic<std::uint8_t> calls{0};
        PaceTrials trials;
    };

    void end_call();

    Clock now_;
    Clock spent_;
    PlaceTable<Place> places_;
    std::atomic<std::uint64_t> left_at_{0};  // 0: the program is inside, or this stay is not measured
    std::atomic<Place*> left_from_{nullptr};
    std::atomic<std::uint64_t> time_{0};
    // An episode: from the first long stay until no message is in flight. Its cost: the time in calls after
    // that stay, and the processor time of Lapwing's thread.
    std::atomic<Place*> episode_{nullptr};
    std::atomic<Pace> pace_{Pace::slow};       // of the episode
    std::atomic<bool> counts_{false};          // the program was outside for long
    std::atomic<std::uint64_t> called_at_{0};  // 0: outside, or the call does not count
    std::atomic<std::uint64_t> time_in_calls_{0};
    std::atomic<std::uint64_t> spent_before_{0};
};

}  // namespace lapwing
