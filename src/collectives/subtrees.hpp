// Trees whose subtrees are runs of neighbouring ranks, so that the blocks of a subtree are adjacent. Gather
// and scatter use them.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing {

// The ranks in places [begin, end), of which the one in place `head` holds the blocks of all.
struct Subtree {
    int begin = 0;
    int end = 0;
    int head = begin;

    int size() const { return end - begin; }
};

// A rank's neighbours in the tree, as places: ranks counted from `first`, around the end of the ranks.
struct TreeNode {
    int first = 0;    // the rank in place 0
    int parent = -1;  // -1 at the root
    Subtree own;
    std::vector<Subtree> children;  // the nearest first
};

// Ranks are counted from the root. Rank r holds the blocks of [r, r + b), where b is its lowest bit.
TreeNode binomial_node(const Problem& problem, int rank);

// The one or two messages in which the blocks of a child travel between the child and its parent, in a tree
// whose place 0 has the rank `first`. At the root they lie in the caller's memory, in two pieces if the order
// of ranks wraps around.
struct Runs {
    Subtree run[2];
    std::size_t count = 1;

    const Subtree* begin() const { return run; }
    const Subtree* end() const { return run + count; }
};
Runs runs_between(const Problem& problem, int first, int parent, Subtree child);

// Cost of a gather or scatter. `levels`: from the root to the farthest leaf; each costs a latency, and all
// blocks pass the root.
double cost_along_tree(const Problem& problem, int levels, const Machine& machine);

}  // namespace lapwing
