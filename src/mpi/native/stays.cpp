#include "mpi/native/stays.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace lapwing {
namespace {

// A shorter stay outside the MPI is not worth a wake-up.
constexpr std::uint64_t long_stay = 200'000;
// A wake-up in vain costs much less than a message that does not move.
constexpr int long_gain = 2;
constexpr int short_loss = 1;
constexpr int highest_score = 4;
constexpr int lowest_score = -3;
// A look at the clock costs as much as a small message: where the program mostly calls again at once, so many
// calls share one.
constexpr std::uint8_t calls_per_measurement = 16;
// A program on the same processor becomes later by so many times the processor time of Lapwing's thread,
// because of switches and cold caches.
constexpr std::uint64_t disturbance = 2;

}  // namespace

void Stays::end_call() {
    if (const std::uint64_t since = called_at_.exchange(0, std::memory_order_relaxed); since != 0)
        time_in_calls_.fetch_add(now_() - since, std::memory_order_relaxed);
}

bool Stays::left(const void* site, int messages, std::uint64_t bytes) {
    end_call();
    const auto address = reinterpret_cast<std::uintptr_t>(site) + static_cast<std::uintptr_t>(messages);
    Place& place = places_.find(std::numeric_limits<std::uint64_t>::digits * address +
                                static_cast<unsigned>(std::bit_width(bytes)));
    const bool stays = place.score.load(std::memory_order_relaxed) > 0;
    if (!stays) {
        const std::uint8_t calls = place.calls.load(std::memory_order_relaxed);
        place.calls.store(static_cast<std::uint8_t>((calls + 1) % calls_per_measurement),
                          std::memory_order_relaxed);
        if (calls != 0) return false;
    }
    left_from_.store(&place, std::memory_order_relaxed);
    left_at_.store(now_(), std::memory_order_release);
    if (stays && messages > 0 && episode_.load(std::memory_order_relaxed) == nullptr) {
        pace_.store(place.trials.pace(), std::memory_order_relaxed);
        time_in_calls_.store(0, std::memory_order_relaxed);
        spent_before_.store(spent_(), std::memory_order_relaxed);
        episode_.store(&place, std::memory_order_relaxed);
    }
    return stays;
}

void Stays::returned() {
    // Another thread may have left.
    const std::uint64_t since = left_at_.load(std::memory_order_acquire);
    if (since == 0 && !counts_.load(std::memory_order_relaxed)) return;
    const std::uint64_t now = now_();
    if (since != 0) {
        left_at_.store(0, std::memory_order_relaxed);
        time_.fetch_add(now - since, std::memory_order_relaxed);
        const bool was_long = now - since >= long_stay;
        std::atomic<std::int8_t>& score = left_from_.load(std::memory_order_relaxed)->score;
        const int learned = score.load(std::memory_order_relaxed) + (was_long ? long_gain : -short_loss);
        score.store(static_cast<std::int8_t>(std::clamp(learned, lowest_score, highest_score)),
                    std::memory_order_relaxed);
        if (was_long && episode_.load(std::memory_order_relaxed) != nullptr)
            counts_.store(true, std::memory_order_relaxed);
    }
    // The call that waits may be a later one.
    if (counts_.load(std::memory_order_relaxed)) called_at_.store(now, std::memory_order_relaxed);
}

void Stays::end_episode() {
    end_call();
    Place* const place = episode_.exchange(nullptr, std::memory_order_relaxed);
    const Pace pace = pace_.exchange(Pace::slow, std::memory_order_relaxed);
    if (!counts_.exchange(false, std::memory_order_relaxed) || place == nullptr) return;
    const std::uint64_t spent = spent_() - spent_before_.load(std::memory_order_relaxed);
    place->trials.learn(pace, time_in_calls_.load(std::memory_order_relaxed) + disturbance * spent);
}

}  // namespace lapwing
