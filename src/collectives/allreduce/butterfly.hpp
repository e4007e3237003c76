// Allreduces in which pairs of ranks exchange partial results, each pair once in a step. A number of ranks
// that is no power of two is folded.
#pragma once

#include "collectives/reduction/halving.hpp"

namespace lapwing::allreduce {

// Whole vectors: in step k core rank r exchanges what it has combined with core rank peer(r, k, core ranks).
// See recursive_doubling.cpp.
using Peer = int (*)(int core_rank, int step, int core);
List build_doubling(const Problem& problem, int rank, Peer peer);
double cost_of_doubling(const Problem& problem, const Machine& machine);
Verdict fits_doubling(const Problem& problem);

// A reduce-scatter by halving, then an allgather along the same steps in reverse. See rabenseifner.cpp.
List build_halving(const Problem& problem, int rank, reduction::Halving::Order order);
double cost_of_halving(const Problem& problem, const Machine& machine);
Verdict fits_halving(const Problem& problem);

}  // namespace lapwing::allreduce
