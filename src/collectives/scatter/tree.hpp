// Scatter along a tree, for binomial and bine.
#pragma once

#include "collectives/subtrees.hpp"

namespace lapwing::scatter {

// The blocks of a subtree arrive in scratch as one message. The root sends from in, in two messages if the
// order of ranks wraps around. The largest subtree is served first, because its path is the longest.
List build_along_tree(const Problem& problem, int rank, const TreeNode& node);

}  // namespace lapwing::scatter
