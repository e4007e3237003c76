#include "mpi/native/poll_pace.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds pause_of_lists = 200us;
// A program that starts so many between two polls completes them by itself.
constexpr int lists_in_a_row = 4;
// Of messages: a short one is over soon, and a long one must not pay for many polls.
constexpr std::chrono::nanoseconds first_pause = 200us;
constexpr std::chrono::nanoseconds default_pause = 1ms;
// After so many polls that moved nothing. Nobody can tell when another rank turns to a window.
constexpr int patience = 16;
constexpr std::chrono::nanoseconds longest_pause = 5ms;
// Where the MPI moves messages by itself, or the program mostly does, this costs nothing, and a long message
// still moves if they do not.
constexpr std::chrono::nanoseconds slow_pause = 10ms;
// Without a budget a poll is followed by a pause of so many times its cost: 0.1 % of a processor. A poll
// takes 5 us on a quiet machine, and 200 us with cold caches on a busy one.
constexpr int pause_per_cost = 1000;
constexpr std::chrono::nanoseconds longest_in_vain = 200ms;
// A poll that moves data earns so many times its cost: a message that arrives late is polled as others are.
constexpr std::int64_t gain = 2;
// Not one that seems to move data after so many that moved nothing: on a busy machine one poll of ten without
// data takes several times as long, which must not pay for the others.
constexpr int polls_between_data = 4;

}  // namespace

// A MiB over 100 Mbit/s takes 2 ms.
std::int64_t PollPace::worth(std::uint64_t bytes) {
    return 10'000'000 + 4 * static_cast<std::int64_t>(bytes);
}

void PollPace::woken() {
    pause_ = first_pause;
    idle_ = kept_out_ = 0;
}

std::chrono::nanoseconds PollPace::next_pause(const Work& work) {
    // A program that waits in the MPI wakes the thread when it leaves.
    const bool waits = kept_out_ >= 2 && !work.lists;
    const bool slow = work.messages && !work.windows && work.pace == Pace::slow;
    std::chrono::nanoseconds pause = waits || slow ? slow_pause : pause_;
    if (work.lists_begun >= lists_in_a_row)
        pause = std::min({pause, pause_, longest_pause_of_lists});
    else if (work.lists_begun > 0 || (work.lists && (kept_out_ == 0 || work.lists_always)))
        pause = std::min(pause, pause_of_lists);
    return exhausted() ? std::max(pause, pause_in_vain_) : pause;
}

void PollPace::polled(Polled polled, const Work& work, std::int64_t spent) {
    const bool moved = polled == Polled::moved;
    kept_out_ = polled == Polled::kept_out ? kept_out_ + 1 : 0;
    if (polled != Polled::kept_out) charge(moved, work, spent);
    idle_ = moved ? 0 : idle_ + 1;
    // One operation on a window takes several small messages, one after the other.
    if (moved && !work.messages) pause_ = first_pause;
    pause_ = std::min(pause_ * 3 / 2, idle_ < patience || work.windows ? default_pause : longest_pause);
}

// What begins, and what moves, pays for itself, not for what stands still.
void PollPace::charge(bool moved, const Work& work, std::int64_t spent) {
    const std::int64_t granted = granted_.exchange(0, std::memory_order_relaxed);
    const std::int64_t most = worth(work.bytes);
    reserve_ = std::min(reserve_ + granted, most);
    std::int64_t earned = moved && idle_ < polls_between_data ? gain * spent : 0;
    // Lists and windows have no number of bytes.
    if (!work.lists && !work.windows) earned = std::min(earned, reserve_);
    reserve_ = std::max<std::int64_t>(reserve_ - earned, 0);
    if (granted + earned > 0) left_ = std::max<std::int64_t>(left_, 0) + granted + earned;
    left_ = std::min(left_, most) - spent;
    exhausted_.store(left_ < 0, std::memory_order_relaxed);
    pause_in_vain_ = std::min(std::chrono::nanoseconds(moved ? 0 : pause_per_cost * spent), longest_in_vain);
}

}  // namespace lapwing
