// For which numbers of ranks each algorithm is proven, without proving anything now.
#pragma once

#include <span>

#include "collectives/algorithm.hpp"

namespace lapwing::tool {

void print_proven(std::span<const Choice> choices, bool json);

}  // namespace lapwing::tool
