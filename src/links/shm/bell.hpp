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

// Between news for several sleepers and the looks at their bells.
inline void publish_news() {
#ifndef LAPWING_THREAD_SANITIZER
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

template <typename Platform>
bool is_asleep(Bell<Platform>& bell) {
#ifdef LAPWING_THREAD_SANITIZER
    // It knows no fences: the order of the changes of one word does the same.
    return bell.asleep.fetch_add(0, std::memory_order_acq_rel) != 0;
#else
    return bell.asleep.load(std::memory_order_relaxed) != 0;
#endif
}

// After publish_news().
template <typename Platform>
void ring(Bell<Platform>& bell) {
    if (!is_asleep(bell)) return;
    bell.rings.fetch_add(1, std::memory_order_release);
    Platform::wake(bell.rings);
}

// Sleep in two steps: the first says that it sleeps, looks for news, and gives back nothing when there are
// some.
template <typename Platform, typename News>
std::optional<std::uint32_t> lie_down(Bell<Platform>& bell, News news) {
    const std::uint32_t seen = bell.rings.load(std::memory_order_acquire);
    bell.asleep.exchange(1, std::memory_order_seq_cst);
    publish_news();
    if (!news()) return seen;
    bell.asleep.store(0, std::memory_order_relaxed);
    return std::nullopt;
}

template <typename Platform>
void sleep_on(Bell<Platform>& bell, std::uint32_t seen, long nanoseconds) {
    Platform::sleep(bell.rings, seen, nanoseconds);
    bell.asleep.store(0, std::memory_order_relaxed);
}

// `news()` says whether there is a reason not to sleep; `sleep(word, value)` sleeps while the word has the
// value.
template <typename Platform, typename News>
void sleep_at(Bell<Platform>& bell, News news, long nanoseconds) {
    if (const auto seen = lie_down(bell, news)) sleep_on(bell, *seen, nanoseconds);
}

}  // namespace lapwing::shm
