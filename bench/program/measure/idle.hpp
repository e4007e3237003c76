// The loss caused by a collective that is pending and idle.
#pragma once

#include <nlohmann/json.hpp>

#include "program/measure/bench.hpp"

namespace lapwing::bench {

// How much longer work takes while a collective is pending in which nothing moves.
nlohmann::json measure_idle(Bench& bench);

}  // namespace lapwing::bench
