// How ranks of one host sleep and wake each other.
//
// No ring may be lost: the sleeper says that it sleeps, then looks once more; the other makes its news
// visible, then looks whether it sleeps. One of the two looks later, and sees the other (Dekker's argument),
// if neither store can pass the look behind it.
#pragma once

#include <optional>

#include "links/shm/layout.hpp"

namespace lapwing::shm {

#if defined(__SANITIZE_THREAD__)
#define LAPWING_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAPWING_THREAD_SANITIZER
#endif
#endif

// Between news for several sleepers and the looks at their doorbells.
template <typename Platform>
void publish_news() {
#ifndef LAPWING_THREAD_SANITIZER
    Platform::fence();
#endif
}

template <typename Platform>
std::uint32_t where_asleep(Doorbell<Platform>& doorbell) {
#ifdef LAPWING_THREAD_SANITIZER
    // It knows no fences: the order of the changes of one word does the same.
    return doorbell.asleep.fetch_add(0, std::memory_order_acq_rel);
#else
    return doorbell.asleep.load(std::memory_order_relaxed);
#endif
}

// Whoever sleeps. `pipe`: the writing end of its pipe, here.
template <typename Platform>
void ring_at(Doorbell<Platform>& doorbell, std::uint32_t asleep, int pipe) {
    doorbell.rings.fetch_add(1, std::memory_order_release);
    if (asleep == at_a_pipe)
        Platform::wake(pipe);
    else
        Platform::wake(doorbell.rings);
}

// After publish_news().
template <typename Platform>
void ring(Doorbell<Platform>& doorbell, int pipe = -1) {
    if (const std::uint32_t asleep = where_asleep(doorbell); asleep != awake) ring_at(doorbell, asleep, pipe);
}

// Sleep in two steps: the first says that it sleeps, looks for news, and gives back nothing when there are
// some.
template <typename Platform, typename News>
std::optional<std::uint32_t> prepare_to_sleep(Doorbell<Platform>& doorbell, News news) {
    const std::uint32_t seen = doorbell.rings.load(std::memory_order_acquire);
    doorbell.asleep.exchange(at_the_word, std::memory_order_seq_cst);
    publish_news<Platform>();
    if (!news()) return seen;
    doorbell.asleep.store(awake, std::memory_order_relaxed);
    return std::nullopt;
}

// True when there was news, or a ring.
template <typename Platform>
bool sleep_on(Doorbell<Platform>& doorbell, std::uint32_t seen, long nanoseconds) {
    Platform::sleep(doorbell.rings, seen, nanoseconds);
    doorbell.asleep.store(awake, std::memory_order_relaxed);
    return doorbell.rings.load(std::memory_order_relaxed) != seen;
}

// `news()` says whether there is a reason not to sleep; `sleep(word, value)` sleeps while the word has the
// value.
template <typename Platform, typename News>
bool sleep_at(Doorbell<Platform>& doorbell, News news, long nanoseconds) {
    const auto seen = prepare_to_sleep(doorbell, news);
    return !seen || sleep_on(doorbell, *seen, nanoseconds);
}

}  // namespace lapwing::shm
