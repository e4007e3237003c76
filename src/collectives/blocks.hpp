// The blocks that ranks have for each other in gather, scatter, allgather, alltoall and their v forms, for
// algorithms that serve both forms.
#pragma once

#include "task/problem.hpp"

namespace lapwing {

// Returns the block that `rank` has for `to`. In a gather, only the root may be `to`.
Span block_to(const Problem& problem, int rank, int to);
// Returns where `rank` wants the block of `from`; an empty span if the block is in place outside of out.
Span block_from(const Problem& problem, int rank, int from);

// For cost models; equal on all ranks. The bytes of the longest block. Ranks of an alltoallv know their own
// blocks only, and the result is then a default.
double longest_block(const Problem& problem);
// The bytes of the blocks of all ranks in an allgather or allgatherv.
std::uint64_t bytes_of_all_blocks(const Problem& problem);

}  // namespace lapwing
