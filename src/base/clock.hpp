// The clock of all measurements.
#pragma once

#include <chrono>
#include <cstdint>

namespace lapwing {

inline std::uint64_t nanoseconds() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

}  // namespace lapwing
