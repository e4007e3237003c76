// The algorithms of reduce_scatter, which are those of reduce_scatter_block, too: there all blocks are of one
// length.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::reduce_scatter {

Verdict halving_applies(const Problem& problem, const Parameters& parameters);
List build_halving(const Problem& problem, int rank, const Parameters& parameters);
double cost_of_halving(const Problem& problem, const Parameters& parameters, const Machine& machine);

extern const Parameter pairwise_parameters[1];
Verdict pairwise_applies(const Problem& problem, const Parameters& parameters);
List build_pairwise(const Problem& problem, int rank, const Parameters& parameters);
double cost_of_pairwise(const Problem& problem, const Parameters& parameters, const Machine& machine);

Verdict ring_applies(const Problem& problem, const Parameters& parameters);
List build_ring(const Problem& problem, int rank, const Parameters& parameters);
double cost_of_ring(const Problem& problem, const Parameters& parameters, const Machine& machine);

}  // namespace lapwing::reduce_scatter
