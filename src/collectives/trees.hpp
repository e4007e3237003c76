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

// The order of the ranks in which subtrees are runs: that of a path through the network, if the problem has
// one (a topology file; topology/host_order.hpp), otherwise rank order. Along a path through a torus, whose
// links may go one way, the messages of a step share no link: those to the root follow the path, so its
// places are counted against it; those from the root, with it. Kaiser et al. 2009, "Implementation and
// Analysis of Nonblocking Collective Operations on SCI Networks", section 3.1 and figure 2.
class TreeOrder {
  public:
    enum class Messages { to_root, from_root };
    TreeOrder(const Problem& problem, Messages messages);

    bool is_path() const { return path_ != nullptr; }
    int ranks() const { return ranks_; }
    int root() const { return index(root_); }
    // tree_node() counts these as ranks.
    int index(int rank) const;
    int rank(int index) const;

  private:
    const Placement* path_;  // null: rank order
    bool against_;
    int ranks_;
    int root_;
};

// The one or two messages in which the blocks of a child travel between the child and its parent, in a tree
// whose place 0 has the index `first`. In rank order they lie in the caller's memory at the root, in two
// pieces if the order of ranks wraps around.
struct Runs {
    Subtree run[2];
    std::size_t count = 1;

    const Subtree* begin() const { return run; }
    const Subtree* end() const { return run + count; }
};
Runs runs_between(const TreeOrder& order, int first, int parent, Subtree child);

// Cost of a gather or scatter along a binomial or bine tree: each level costs a latency, and all blocks pass
// the root.
double cost_along_tree(const Problem& problem, const Parameters&, const Machine& machine);

}  // namespace lapwing
