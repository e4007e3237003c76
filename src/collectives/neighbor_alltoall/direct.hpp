// Blocks that go straight to the neighbours: what flat of neighbor_alltoall and of neighbor_allgather share.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::neighbor_alltoall {

List build_flat(const Problem& problem, int rank);
// Only the number of ranks is known to all: no rank has more neighbours, unless the same one several times.
double cost_of_flat(const Problem& problem, const Machine& machine);

}  // namespace lapwing::neighbor_alltoall
