// The time of one iteration of a program in the simulation.
#pragma once

#include <functional>

#include "simulate/program.hpp"

namespace lapwing::tool {

// Seconds. `end` simulates a program and returns when its last rank ends. On links with bursts, measures one
// of several consecutive iterations after the burst was used up, as in a benchmark.
inline double seconds_of_iteration(simulate::Program program, bool bursts,
                                   const std::function<simulate::Time(const simulate::Program&)>& end,
                                   int repetitions = 10) {
    if (!bursts) return simulate::to_seconds(end(program)) / program.iterations;
    program.together = true;
    program.iterations = repetitions;
    const simulate::Time first = end(program);
    program.iterations *= 2;
    return simulate::to_seconds(end(program) - first) / repetitions;
}

}  // namespace lapwing::tool
