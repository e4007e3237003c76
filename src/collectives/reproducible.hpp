// Which algorithms keep the fixed bracketing of reproducible reductions (task/bracketing.hpp).
#pragma once

#include "collectives/algorithm.hpp"

namespace lapwing {

// Returns whether the lists for the problem keep the bracketing. The problem must be in rank order, and the
// algorithm must apply to it. The lists of a file are proven at the first call.
Verdict keeps_bracketing(const Problem& problem, const Choice& choice);

}  // namespace lapwing
