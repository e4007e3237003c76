// Ring, Bruck and flat for blocks of any lengths: what allgather and allgatherv share. All ranks know all
// lengths; where a block goes in out, each rank says for itself.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::allgather {

List build_ring(const Problem& problem, int rank);
double cost_of_ring(const Problem& problem, const Machine& machine);

// Keeps all blocks in scratch, in the order in which they arrive.
Verdict bruck_applies(const Problem& problem);
List build_bruck(const Problem& problem, int rank);
double cost_of_bruck(const Problem& problem, const Machine& machine);

double cost_of_flat(const Problem& problem, const Machine& machine);

}  // namespace lapwing::allgather
