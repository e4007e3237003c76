// Simulated time: whole picoseconds, so that sums do not depend on their order and results repeat exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace lapwing::simulate {

// Picoseconds since the start of the simulation, or a length of time. Reaches 106 days.
using Time = std::int64_t;

inline constexpr Time nanosecond = 1000;
inline constexpr Time never = std::numeric_limits<Time>::max();
// What a program's times may be at most, in seconds.
inline constexpr double max_seconds = 1000;
// When a simulation is given up, so that no sum overflows: 26 days.
inline constexpr Time latest = never / 4;

inline Time from_seconds(double seconds) {
    return std::llround(seconds * 1e12);
}
inline double to_seconds(Time time) {
    return static_cast<double>(time) * 1e-12;
}

}  // namespace lapwing::simulate
