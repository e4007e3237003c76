#include "mpi/native/poll_pace.hpp"

#include <algorithm>

namespace lapwing {
namespace {

using namespace std::chrono_literals;

// Of messages: a short one is over soon, and a long one must not pay for many polls.
constexpr std::chrono::nanoseconds first_pause = 200us;
constexpr std::chrono::nanoseconds default_pause = 1ms;
// After so many polls that moved nothing.
constexpr int patience = 16;
constexpr std::chrono::nanoseconds longest_pause = 5ms;
// Nobody can tell when another rank turns to a window.
constexpr std::chrono::nanoseconds pause_of_windows = 2ms;
constexpr std::chrono::nanoseconds pause_of_lists = 200us;
// Where the MPI moves messages by itself, or the program mostly does, this costs nothing, and a long message
// still moves if they do not. The same after the budget.
constexpr std::chrono::nanoseconds first_slow_pause = 10ms;
constexpr std::chrono::nanoseconds longest_slow_pause = 80ms;
// A poll that moves data earns so many times its cost: a message that arrives late is polled as others are.
// On a busy machine one poll of ten without data takes several times as long, which must not pay for the
// others.
constexpr std::int64_t gain = 2;

}  // namespace

// A MiB over 100 Mbit/s takes 2 ms.
std::int64_t PollPace::worth(std::uint64_t bytes) {
    return 10'000'000 + 4 * static_cast<std::int64_t>(bytes);
}

void PollPace::begin() {
    woken();
    idle_ = kept_out_ = 0;
}

void PollPace::woken() {
    pause_ = first_pause;
    slow_pause_ = first_slow_pause;
}

std::chrono::nanoseconds PollPace::next_pause(const Work& work) {
    // A program that waits in the MPI wakes the thread when it leaves.
    const bool waits = kept_out_ >= 2 && !work.lists;
    const bool vain = exhausted() && !work.windows;
    if (waits || vain || (work.slow && !work.windows)) {
        pause_ = slow_pause_;
        // Where the slow pace was learned, messages have needed no more.
        if (vain || (work.in_episode && !waits)) slow_pause_ = std::min(2 * slow_pause_, longest_slow_pause);
    }
    if (!work.lists || (kept_out_ > 0 && !work.lists_always)) return pause_;
    return std::min(pause_, exhausted() ? first_slow_pause : pause_of_lists);
}

void PollPace::polled(Polled polled, const Work& work, std::int64_t spent) {
    const bool moved = polled == Polled::moved;
    kept_out_ = polled == Polled::kept_out ? kept_out_ + 1 : 0;
    idle_ = moved ? 0 : idle_ + 1;
    if (polled != Polled::kept_out) charge(moved, work, spent);
    // One operation on a window takes several small messages, one after the other.
    if (moved && !work.messages) pause_ = first_pause;
    const auto longest = idle_ < patience ? default_pause : work.windows ? pause_of_windows : longest_pause;
    pause_ = std::min(pause_ * 3 / 2, longest);
}

// What begins, and what moves, pays for itself, not for what stands still.
void PollPace::charge(bool moved, const Work& work, std::int64_t spent) {
    const std::int64_t most = worth(work.bytes);
    const std::int64_t granted = granted_.exchange(0, std::memory_order_relaxed);
    reserve_ = std::min(reserve_ + granted, most);
    std::int64_t earned = moved ? gain * spent : 0;
    if (!work.lists) earned = std::min(earned, reserve_);
    reserve_ = std::max<std::int64_t>(reserve_ - earned, 0);
    if (moved && left_ < 0) slow_pause_ = std::max(slow_pause_ / 4, first_slow_pause);
    if (granted + earned > 0) left_ = std::max<std::int64_t>(left_, 0) + granted + earned;
    left_ = std::min(left_, most) - spent;
    exhausted_.store(left_ < 0, std::memory_order_relaxed);
}

}  // namespace lapwing
