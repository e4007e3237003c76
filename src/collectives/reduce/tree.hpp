// Reduce along a tree, for binomial and bine.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing::reduce {

struct Neighbours {
    int top = 0;                // the tree's root, which sends the result on if it is not the problem's
    int parent = -1;            // -1 at the top
    std::vector<int> children;  // in rank order, if the operator does not commute
    std::size_t below = 0;      // children whose subtrees have lower ranks than this rank, in that case
};

// Each rank combines its own vector with those of its children's subtrees, and sends the combination on. If
// the operator does not commute, each subtree must be a run of ranks.
List build_along_tree(const Problem& problem, int rank, const Neighbours& neighbours);

// For trees of ceil_log2(ranks) levels with two children of the same size at most. `detour`: the top is not
// the problem's root.
double cost_along_tree(const Problem& problem, bool detour, const Machine& machine);
// Declines what needs too much scratch, for such trees.
Verdict fits_tree(const Problem& problem);

}  // namespace lapwing::reduce
