// Prints lists as GOAL schedules, the input of LogGOPSim and ATLAHS (Hoefler, Siebert, Lumsdaine 2009, "Group
// Operation Assembly Language"), for other simulators, including those of packet networks.
//
// Each receive is a line without dependencies. A send requires all receives that the list has waited for
// since the previous send, and the start of the previous send. So does a copy or reduction, which is a
// calculation. All messages have tag 0, because messages between two ranks keep their order. Empty messages
// have one byte.
#pragma once

#include <span>
#include <string>

#include "simulate/parameters.hpp"
#include "task/list.hpp"

namespace lapwing::simulate {

// Returns the schedule. `lists`: of all ranks, proven by the checker. `parameters`: costs of copies and
// reductions, rounded to nanoseconds. Throws Error (unsupported) for lists with enable tasks.
std::string print_goal(std::span<const List> lists, const Parameters& parameters);

}  // namespace lapwing::simulate
