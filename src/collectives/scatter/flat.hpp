// Scatter without a tree: what scatter and scatterv share.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::scatter {

List build_flat(const Problem& problem, int rank);
double cost_of_flat(const Problem& problem, const Machine& machine);

}  // namespace lapwing::scatter
