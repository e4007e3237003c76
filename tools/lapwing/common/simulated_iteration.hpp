// How long one iteration of a program takes in the simulation.
#pragma once

#include <functional>

#include "simulate/program.hpp"

namespace lapwing::tool {

// Seconds; `end` simulates a program and says when its last rank ends. On links with bursts it is one of
// several that follow each other, as in a benchmark, whose links have nothing left of the burst before the
// first.
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
