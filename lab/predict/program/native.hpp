// The algorithms of the native MPI, about.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::tool {

// Returns what Open MPI 4.1 would take without Lapwing, as far as the catalogue has it; MPICH's choices are
// similar. The thresholds are those of its modules tuned (blocking) and libnbc (nonblocking), rounded.
Choice native_choice(const Problem& problem, bool blocking);

}  // namespace lapwing::tool
