// How long one iteration of a program takes in the simulation.
#pragma once

#include <functional>

#include "simulate/program.hpp"

namespace lapwing::tool {

// Seconds; `end` simulates a program and says when its last rank ends. On links with bursts the first of
// several is faster than those that follow: then it is one that follows, as in a benchmark that warms up.
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
