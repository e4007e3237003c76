// Trees whose subtrees are runs of neighbouring ranks, so that the blocks of a subtree are adjacent and
// operands stay in rank order. For gather, scatter and reduce.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithm.hpp"

namespace lapwing {

// The ranks in places [begin, end), of which the first holds the blocks of all.
struct Subtree {
    int begin = 0;
    int end = 0;

    int size() const { return end - begin; }
};

// A rank's neighbours in the tree, as places: ranks counted from the root, around the end of the ranks.
struct TreeNode {
    int parent = -1;  // -1 at the root
    Subtree own;
    std::vector<Subtree> children;  // the nearest first
};
// The ranks below a rank are halved among its two children.
TreeNode binary_node(int ranks, int place);
// The rank in place p has the places [p, p + b) below it, where b is the lowest bit of p.
TreeNode binomial_node(int ranks, int place);

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
    int index(int rank) const;
    int rank(int index) const;

  private:
    const Placement* path_;  // null: rank order
    bool against_;
    int ranks_;
    int root_;
};

// The one or two messages in which the blocks of a child travel between the child and its parent. In rank
// order they lie in the caller's memory at the root, in two pieces if the order of ranks wraps around.
struct Runs {
    Subtree run[2];
    std::size_t count = 1;

    const Subtree* begin() const { return run; }
    const Subtree* end() const { return run + count; }
};
Runs runs_between(const TreeOrder& order, int parent, Subtree child);

// Cost of a gather or scatter along a binomial tree: each level costs a latency, and all blocks pass
// the root.
double cost_along_tree(const Problem& problem, const Parameters&, const Machine& machine);

}  // namespace lapwing
