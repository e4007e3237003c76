// How long the conformance program waits.
#pragma once

#include <chrono>

namespace lapwing::mlx5 {

struct ConformanceLimits {
    std::chrono::milliseconds longest{2000};  // until something that must come is called missing
    std::chrono::milliseconds shortest{20};   // until something that must not come is believed not to
};

}  // namespace lapwing::mlx5
