// Trees whose subtrees are runs of neighbouring ranks, so that the blocks of a subtree stand side by side:
// gather collects along them, scatter hands out.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing {

// Ranks [begin, end), counted from the root; `begin` holds the blocks of them all.
struct Subtree {
    int begin = 0;
    int end = 0;
};

// A rank's place in the tree, in ranks counted from the root.
struct Place {
    int parent = -1;  // none for the root
    Subtree own;
    std::vector<Subtree> children;  // the nearest first
};

// Rank r holds the blocks of [r, r + b), where b is its lowest bit.
Place binomial_place(const Problem& problem, int rank);

// The one or two runs as which the blocks of a child travel from or to its parent: they go straight from or
// into the root's memory, where they stand in two places when the order of ranks wraps around.
struct Runs {
    Subtree run[2];
    std::size_t count = 1;

    const Subtree* begin() const { return run; }
    const Subtree* end() const { return run + count; }
};
Runs runs_between(const Problem& problem, int parent, Subtree child);

// `levels` from the root to the farthest leaf: each costs a latency, and all blocks pass the root.
double cost_along_tree(const Problem& problem, int levels, const Machine& machine);

}  // namespace lapwing
