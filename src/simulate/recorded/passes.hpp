// Programs with long loops: a few passes stand for all.
#pragma once

#include <functional>
#include <vector>

#include "simulate/simulation.hpp"

namespace lapwing::simulate {

// Simulates scripts whose outer loops make at most `passes` passes, and adds the time of the others: that of
// a pass in the second half of those. Exact if all later passes take the same time, so without noise. `run`
// simulates scripts. Throws Error (unsupported) if ranks have different long loops.
Outcome simulate_passes(const Scripts& scripts, int passes,
                        const std::function<Outcome(const Scripts&)>& run);

}  // namespace lapwing::simulate
