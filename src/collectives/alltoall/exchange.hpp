// Every rank sends to every other, straight: what flat and pairwise share, of alltoall and alltoallv, and
// the flat allgathers.
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing::alltoall {

// Everything is started at once.
List build_flat(const Problem& problem, int rank);
// In each round the ranks form pairs that exchange blocks. A window is a batch of rounds: its sends, then as
// many waits, so that the traffic of one batch does not meet that of the next.
List build_pairwise(const Problem& problem, int rank, std::int64_t window);

inline constexpr Parameter pairwise_parameters[] = {
    {"window", "rounds, each with one send, that are in flight together", 4, 1, 1 << 20}};

// For blocks of so many bytes.
double cost_of_flat(int ranks, double bytes, const Machine& machine);
double cost_of_pairwise(int ranks, double bytes, std::int64_t window, const Machine& machine);

}  // namespace lapwing::alltoall
