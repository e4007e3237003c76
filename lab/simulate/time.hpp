// Simulated time in whole picoseconds: sums do not depend on their order, and results are reproducible.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace lapwing::simulate {

// Picoseconds since the start of the simulation, or a duration; up to 106 days.
using Time = std::int64_t;

inline constexpr Time nanosecond = 1000;
inline constexpr Time never = std::numeric_limits<Time>::max();
// The maximum of the times in a program, in seconds.
inline constexpr double max_seconds = 1000;
// The limit of a simulation, 26 days: no sum overflows.
inline constexpr Time latest = never / 4;

inline Time from_seconds(double seconds) {
    return std::llround(seconds * 1e12);
}
inline double to_seconds(Time time) {
    return static_cast<double>(time) * 1e-12;
}

}  // namespace lapwing::simulate
