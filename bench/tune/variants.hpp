// The variants to try for a problem: every algorithm with its default parameters, and with half and twice of
// them; and one more, if it is given.
#pragma once

#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing::tune {

std::vector<Choice> variants_of(Collective collective, const Choice* also);

// For each variant the first that builds the same lists, mostly itself; -1 when it does not apply.
std::vector<int> representatives(const std::vector<Choice>& variants, const Problem& problem);

}  // namespace lapwing::tune
