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

// How often large messages of the program are polled. Slow: the MPI moves them by itself, or the program has
// not left the MPI for long.
enum class Pace : std::uint8_t { fast, slow };

// Tells by the processor time of a poll whether it has moved data. The longer the pause before it, the colder
// are its caches.
class PollMeter {
  public:
    bool moves(std::uint64_t nanoseconds, std::chrono::nanoseconds pause) {
        using namespace std::chrono_literals;
        std::uint64_t& idle = pause > 5ms ? cold_ : pause > 0ms ? warm_ : hot_;
        const bool moves = nanoseconds > 3 * idle + 1000;
        idle = std::min(nanoseconds, idle + idle / (moves ? 128 : 16) + 1);
        return moves;
    }

  private:
    // The least so far; grows slowly, as caches may be colder now, and data may arrive for long.
    std::uint64_t hot_ = 5'000;
    std::uint64_t warm_ = 5'000;
    std::uint64_t cold_ = 5'000;
};

class PollPace {
  public:
    // What is in flight.
    struct Work {
        bool messages = false;  // large ones of the program
        std::uint64_t bytes = 0;
        Pace pace = Pace::fast;  // of messages
        bool windows = false;
        bool lists = false;
        int lists_begun = 0;  // since the last poll
        // Lists also advance while the program is inside the MPI.
        bool lists_always = false;
    };

    // Between polls of lists.
    static constexpr std::chrono::nanoseconds longest_pause_of_lists = std::chrono::milliseconds(1);

    // By any thread: another message is in flight, or a list or a window with 0 bytes.
    void began(std::uint64_t bytes) { granted_.fetch_add(worth(bytes), std::memory_order_relaxed); }
    // By a thread of the program that leaves the MPI with messages or windows in flight: whether it wakes
    // Lapwing's thread. `pauses`: that thread wakes up by itself. `stays`: the program stays outside for
    // long.
    bool wakes(bool pauses, bool stays, Pace pace) const {
        return !pauses || (stays && pace == Pace::fast && !exhausted());
    }

    // These by Lapwing's thread, which was woken.
    void woken();
    std::chrono::nanoseconds next_pause(const Work& work);
    // `spent`: nanoseconds of the processor for this poll, with the wake-up.
    void polled(Polled polled, const Work& work, std::int64_t spent);

  private:
    static std::int64_t worth(std::uint64_t bytes);
    // Polls have cost more than what is in flight is worth. A peer may send nothing for minutes.
    bool exhausted() const {
        return exhausted_.load(std::memory_order_relaxed) && granted_.load(std::memory_order_relaxed) == 0;
    }
    void charge(bool moved, const Work& work, std::int64_t spent);

    // In nanoseconds of the processor.
    std::atomic<std::int64_t> granted_{0};  // not yet in left_
    std::atomic<bool> exhausted_{false};
    std::int64_t left_ = 0;     // of the budget
    std::int64_t reserve_ = 0;  // what polls that move messages may still earn
    std::chrono::nanoseconds pause_{};
    std::chrono::nanoseconds pause_in_vain_{};  // at least so long without a budget
    int idle_ = 0;                              // polls in a row that moved nothing
    int kept_out_ = 0;                          // polls in a row
};

}  // namespace lapwing
