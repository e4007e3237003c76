// Random problems, for proofs of lists.
#pragma once

#include <cstdint>

#include "task/problem.hpp"

namespace lapwing {

// Returns a problem with a random number of ranks (each doubling is as likely, powers of two occur often),
// root, form, length of blocks and, if `on_hosts`, placement. All follow from `seed`.
Problem random_problem(Collective collective, int min_ranks, int max_ranks, bool on_hosts,
                       std::uint64_t seed);

}  // namespace lapwing
