// Broadcast along a k-nomial tree: what binomial (k = 2) and k_nomial share.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::broadcast {

List build_along_k_nomial_tree(const Problem& problem, int rank, std::int64_t radix);
double cost_along_k_nomial_tree(const Problem& problem, std::int64_t radix, const Machine& machine);

}  // namespace lapwing::broadcast
