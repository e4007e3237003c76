// How ranks of one host sleep and wake each other.
//
// No ring may be lost. The sleeper stores that it sleeps, then checks once more for messages; the sender
// stores its message, then checks whether the receiver sleeps. The later of the two loads sees the other's
// store (Dekker's argument) if neither store can pass the load behind it.
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

// Between the messages for several peers and the checks of their doorbells.
template <typename Platform>
void publish_news() {
#ifndef LAPWING_THREAD_SANITIZER
    Platform::fence();
#endif
}

template <typename Platform>
std::uint32_t where_asleep(Doorbell<Platform>& doorbell) {
#ifdef LAPWING_THREAD_SANITIZER
    // The sanitizer does not support fences. The modification order of one word has the same effect.
    return doorbell.asleep.fetch_add(0, std::memory_order_acq_rel);
#else
    return doorbell.asleep.load(std::memory_order_relaxed);
#endif
}

// Wakes a peer that sleeps. `pipe`: the writing end of its pipe in this process.
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

// First of two steps: stores that this rank sleeps, then checks `news()`, whether there is a reason not to
// sleep. Returns nothing if there is.
template <typename Platform, typename News>
std::optional<std::uint32_t> prepare_to_sleep(Doorbell<Platform>& doorbell, News news) {
    const std::uint32_t seen = doorbell.rings.load(std::memory_order_acquire);
    doorbell.asleep.exchange(at_the_word, std::memory_order_seq_cst);
    publish_news<Platform>();
    if (!news()) return seen;
    doorbell.asleep.store(awake, std::memory_order_relaxed);
    return std::nullopt;
}

// Second step. Returns true if the doorbell has rung.
template <typename Platform>
bool sleep_on(Doorbell<Platform>& doorbell, std::uint32_t seen, long nanoseconds) {
    Platform::sleep(doorbell.rings, seen, nanoseconds);
    doorbell.asleep.store(awake, std::memory_order_relaxed);
    return doorbell.rings.load(std::memory_order_relaxed) != seen;
}

}  // namespace lapwing::shm
