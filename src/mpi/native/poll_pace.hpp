// When Lapwing's thread polls the MPI, and how long it goes on where nothing moves. No system calls: the
// caller passes the processor time that it has measured.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace lapwing {

// What a poll has found.
enum class Polled : std::uint8_t {
    kept_out,  // a thread of the program was inside the MPI
    nothing,
    moved,  // data
};

// Tells by the processor time of a poll whether it has moved data.
class PollMeter {
  public:
    bool moves(std::uint64_t nanoseconds) {
        const bool moves = nanoseconds > 3 * idle_ + 1000;
        idle_ = std::min(nanoseconds, idle_ + idle_ / 16 + 1);
        return moves;
    }

  private:
    std::uint64_t idle_ = 5'000;  // the least so far; grows slowly, as caches may be colder now
};

class PollPace {
  public:
    // What is in flight.
    struct Work {
        bool messages = false;  // large ones of the program
        std::uint64_t bytes = 0;
        bool windows = false;
        bool lists = false;
        // Lists also advance while the program is inside the MPI.
        bool lists_always = false;
        // The place in the program needs few polls, as the MPI moves messages by itself there.
        bool slow = false;
        bool in_episode = false;  // the program has left the MPI for long
    };

    // By any thread: another message is in flight, or a list with 0 bytes.
    void began(std::uint64_t bytes) { granted_.fetch_add(worth(bytes), std::memory_order_relaxed); }
    // By any thread: polls have cost more than what is in flight is worth. A peer may send nothing for
    // minutes.
    bool exhausted() const {
        return exhausted_.load(std::memory_order_relaxed) && granted_.load(std::memory_order_relaxed) == 0;
    }
    // By a thread of the program that leaves the MPI with messages or windows in flight: whether it wakes
    // Lapwing's thread. `pauses`: that thread wakes up by itself. `stays`: the program stays outside for
    // long.
    bool wakes(bool pauses, bool stays, bool slow) const {
        return !pauses || (stays && !slow && !exhausted());
    }

    // These by Lapwing's thread. Something is in flight, after nothing was.
    void begin();
    // The thread was woken from a pause.
    void woken();
    std::chrono::nanoseconds next_pause(const Work& work);
    // `spent`: nanoseconds of the processor for this poll, with the wake-up.
    void polled(Polled polled, const Work& work, std::int64_t spent);

  private:
    static std::int64_t worth(std::uint64_t bytes);
    void charge(bool moved, const Work& work, std::int64_t spent);

    // In nanoseconds of the processor.
    std::atomic<std::int64_t> granted_{0};  // not yet in left_
    std::atomic<bool> exhausted_{false};
    std::int64_t left_ = 0;     // of the budget
    std::int64_t reserve_ = 0;  // what polls that move data may still earn; lists have no limit
    std::chrono::nanoseconds pause_{};
    std::chrono::nanoseconds slow_pause_{};
    int idle_ = 0;      // polls in a row that moved nothing
    int kept_out_ = 0;  // polls in a row
};

}  // namespace lapwing
