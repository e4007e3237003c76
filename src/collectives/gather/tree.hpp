// Gather along a tree whose subtrees are runs of neighbouring ranks: what binary and binomial share.
#pragma once

#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing::gather {

// Ranks [begin, end), counted from the root; `begin` collects the blocks of them all.
struct Subtree {
    int begin = 0;
    int end = 0;
};

// A rank's place in the tree, in ranks counted from the root.
struct Place {
    int parent = -1;  // none for the root
    Subtree own;
    std::vector<Subtree> children;
};

// Blocks of a subtree stand in scratch in rank order and travel as one message; into the root's out they
// go straight, as two messages where the order of ranks wraps around.
List build_along_tree(const Problem& problem, int rank, const Place& place);

// `levels` from the root to the farthest leaf: each costs a latency, and the root takes in all blocks.
double cost_along_tree(const Problem& problem, int levels, const Machine& machine);

}  // namespace lapwing::gather
