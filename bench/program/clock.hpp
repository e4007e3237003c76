#pragma once

#include <chrono>

namespace lapwing::bench {

// Seconds of a clock that only goes forward. Only differences of one rank's readings mean anything.
inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lapwing::bench
