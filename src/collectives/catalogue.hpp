// All algorithms, in one table (catalogue.def), in the order in which they are listed to people.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing {

std::span<const Algorithm* const> catalogue();
std::vector<const Algorithm*> algorithms_of(Collective collective);

// Reads "pairwise" or "pairwise:window=6". Throws Error (invalid_argument) that names the nearest valid
// algorithm or parameter, or the range that a value left.
Choice parse_choice(Collective collective, std::string_view text);

// One rank's list; `problem` must be valid and the algorithm must apply to it. A problem that moves no bytes
// (and is no barrier) has an empty list, whatever the algorithm.
List build(const Problem& problem, int rank, const Choice& choice);

// The lists of all ranks. In builds without NDEBUG they are checked, and Error (internal) names the algorithm
// when they are wrong.
ListSet build_all(const Problem& problem, const Choice& choice);

}  // namespace lapwing
