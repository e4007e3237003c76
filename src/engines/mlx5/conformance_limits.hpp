// How long the conformance program waits.
#pragma once

#include <chrono>

namespace lapwing::mlx5 {

struct ConformanceLimits {
    std::chrono::milliseconds max_wait{2000};  // for an event that must come
    std::chrono::milliseconds min_wait{100};   // for an event that must not come
};

}  // namespace lapwing::mlx5
