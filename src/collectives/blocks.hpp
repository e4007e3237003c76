// Where the blocks stand that one rank has for another, whether all are of one length or parts tell theirs:
// of gather, scatter, allgather, alltoall and their v forms.
#pragma once

#include "task/problem.hpp"

namespace lapwing {

// What `rank` has for `to`; all that a rank which is not the root has, it has for the root.
Span block_to(const Problem& problem, int rank, int to);
// Where `rank` wants what `from` has for it; no bytes where it is in place already and out does not hold it.
Span block_from(const Problem& problem, int rank, int from);

}  // namespace lapwing
