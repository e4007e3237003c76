// Gather along a tree, for binary, binomial and bine.
#pragma once

#include "collectives/subtrees.hpp"

namespace lapwing::gather {

// The blocks of a subtree are collected in scratch in rank order and travel as one message. They arrive in
// the root's out directly, in two messages if the order of ranks wraps around.
List build_along_tree(const Problem& problem, int rank, const TreeNode& node);

}  // namespace lapwing::gather
