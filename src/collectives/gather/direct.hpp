// Gather without a tree: every block goes straight to the root. What flat and sequential share, of gather
// and gatherv.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::gather {

List build_flat(const Problem& problem, int rank);
// At most `window` ranks send at the same time. Who has no bytes is not signalled.
List build_sequential(const Problem& problem, int rank, std::int64_t window);

inline constexpr Parameter sequential_parameters[] = {
    {"window", "ranks that may send at the same time", 1, 1, 1 << 20}};

double cost_of_flat(const Problem& problem, const Machine& machine);
double cost_of_sequential(const Problem& problem, std::int64_t window, const Machine& machine);

}  // namespace lapwing::gather
