// Trees whose subtrees are runs of neighbouring ranks, so that the blocks of a subtree are adjacent and
// operands stay in rank order. Gather, scatter, reduce and broadcast have one implementation each, for every
// shape of tree.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing {

enum class Shape {
    // The ranks below a rank are halved among its two children.
    binary,
    // Counted from the root, rank r has the ranks [r, r + b) below it, where b is its lowest bit.
    binomial,
    // A run of ranks has a head, about a third of the run from one of its ends. The head keeps the half that
    // it is in. The other half gets a head that is a third of the run away. The same is done with both
    // halves. As many steps as binomial, between ranks that are about two thirds as far apart: see bine.hpp.
    //
    // The paper defines the tree for 2^n ranks, by flipping the lowest digits of negabinary numbers (its tree
    // of halved distances). Halves that differ by one rank extend it to all numbers of ranks; a test compares
    // both.
    bine
};

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
TreeNode tree_node(Shape shape, int ranks, int root, int rank);
// The place of the root, which is the root if place 0 has rank 0.
int place_of_root(Shape shape, int ranks);

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

// Cost of a gather or scatter along a binomial or bine tree: each level costs a latency, and all blocks pass
// the root.
double cost_along_tree(const Problem& problem, const Parameters&, const Machine& machine);

}  // namespace lapwing
