// Gather along a tree: what binary and binomial share.
#pragma once

#include "collectives/subtrees.hpp"

namespace lapwing::gather {

// Blocks of a subtree stand in scratch in rank order and travel as one message; into the root's out they
// go straight, as two messages where the order of ranks wraps around.
List build_along_tree(const Problem& problem, int rank, const Place& place);

}  // namespace lapwing::gather
