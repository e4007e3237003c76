// Which of several sequences of calls a rank has, as a rule that holds for any number of ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simulate/recorded/replay.hpp"

namespace lapwing::simulate {

// The calls of a rank, without what they do: kinds and sites.
using CallSequence = std::vector<std::pair<Action::Kind, int>>;

// A recording: the index of the sequence of each rank.
using Cast = std::vector<int>;

// Returns the sequence of each of `ranks` ranks, one that the last recording has, by the first rule that all
// recordings follow: a rank's position at the edges of a grid, or whether its number is even. Empty if there
// is none, or if it does not say which sequence a rank has.
std::vector<int> find_roles(const std::vector<Cast>& casts, int ranks);

// Says where sequences differ first.
std::string first_difference(const std::vector<CallSequence>& sequences, const std::vector<Cast>& casts,
                             const std::vector<ReplaySite>& sites);

}  // namespace lapwing::simulate
