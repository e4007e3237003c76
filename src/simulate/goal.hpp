// Lists as GOAL schedules, the input of LogGOPSim and ATLAHS (Hoefler, Siebert, Lumsdaine 2009, "Group
// Operation Assembly Language"): so other simulators, of packet networks too, can run them.
//
// Each receive is a line without dependencies. A send requires all receives that the list has waited for
// since the send before it, and that the send before it has begun; so do copies and reductions, which are
// calculations. All messages have tag 0, since those between two ranks keep their order; empty ones have one
// byte.
#pragma once

#include <span>
#include <string>

#include "simulate/parameters.hpp"
#include "task/list.hpp"

namespace lapwing::simulate {

// The lists of all ranks, which the checker has found right. `parameters`: for copies and reductions, in
// whole nanoseconds. Throws Error (unsupported) for lists with enable tasks.
std::string print_goal(std::span<const List> lists, const Parameters& parameters);

}  // namespace lapwing::simulate
