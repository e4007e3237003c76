// The message costs of a tuning file as a simulation takes them.
#pragma once

#include "plan/tuning.hpp"
#include "simulate/parameters.hpp"

namespace lapwing::tool {

inline void set_costs(simulate::Parameters& parameters, const MessageCosts& costs) {
    parameters.latency = simulate::from_seconds(costs.latency);
    parameters.overhead = simulate::from_seconds(costs.task);
    parameters.gap = simulate::from_seconds(costs.gap);
    parameters.per_byte = costs.per_byte * 1e12;
    parameters.overhead_per_byte = costs.task_per_byte * 1e12;
}

}  // namespace lapwing::tool
