// The table of all algorithms (algorithms.def), in the order in which the tool lists them.
#pragma once

#include <span>
#include <string_view>

#include "collectives/algorithm.hpp"

namespace lapwing {

std::span<const Algorithm* const> catalogue();
std::span<const Algorithm* const> algorithms_of(Collective collective);

// Parses "pairwise" or "pairwise:window=6". Throws Error (invalid_argument) that names the nearest valid
// algorithm or parameter, or the valid range of a value.
Choice parse_choice(Collective collective, std::string_view text);

// Returns one rank's list. `problem` must be valid, and the algorithm must apply to it. The list is empty if
// the problem moves no bytes and is no barrier.
List build(const Problem& problem, int rank, const Choice& choice);

// Returns the lists of all ranks.
ListSet build_all(const Problem& problem, const Choice& choice);

}  // namespace lapwing
