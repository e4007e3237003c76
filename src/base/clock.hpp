// The clocks of all measurements.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace lapwing {

inline std::uint64_t nanoseconds() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

// Nanoseconds that a thread, by default the calling one, has had a processor.
inline std::uint64_t processor_time(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace lapwing
