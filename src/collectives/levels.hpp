// A tree over all levels of the placement: hosts, and inside them packages, NUMA nodes and caches. Each group
// has a leader, one of its ranks. The leaders of the groups that have one parent, or the ranks of an
// innermost group, form a k-nomial tree or a chain under the parent's leader. Each pair of groups with one
// parent therefore exchanges messages between their leaders only. Karonis et al. 2000, "Exploiting hierarchy
// in parallel computer networks to optimize collective operation performance"; Katevenis, Ploumidis,
// Marazakis 2022, "A framework for hierarchical single-copy MPI collectives on multicore nodes" (XHC).
#pragma once

#include <vector>

#include "collectives/two_level.hpp"

namespace lapwing::levels {

// Yes if the hosts have several ranks and there are several hosts, or groups inside a host.
Verdict has_levels(const Problem& problem);
// Yes if the problem has levels, the operator suits the order of the ranks, and the vectors of a rank's
// children fit in scratch memory. For reductions along the tree.
Verdict applies_to_reduction(const Problem& problem, const Parameters& values);

inline constexpr Parameter parameters[] = {
    {"k", "base of the trees; 1: chains; 0: 4, but a chain of hosts when there are enough segments", 0, 0,
     1024},
    {"segment", "segment size in KiB; 0: a 32nd of all bytes, from 32 to 128 KiB", 0, 0, 1 << 20},
};

// One rank's neighbours in the tree.
struct Tree {
    int parent = -1;  // -1 at the top
    // Innermost groups first, and in each the nearest first. If the placement is in rank order and the top is
    // rank 0, the subtree of each rank is a run of ranks, and those of its children follow in this order.
    std::vector<int> children;
    int depth = 0;  // number of ranks above this rank
};
// The leader of a group is `top` if it has that rank, else its first rank. `segments`: of the vector.
Tree tree_of(const Placement& placement, int top, int rank, std::int64_t k, int segments);

// The top of the tree of a barrier or a reduction: the root if there is one and the operator commutes, else
// the first rank in the placement's order.
int top_of(const Problem& problem);
// The maximum number of children of a rank.
std::uint64_t max_children(const Placement& placement, std::int64_t k, int segments);

// Seconds for all segments to pass the tree in one direction. `combined`: arrivals are combined.
double cost_of_tree(const Problem& problem, const Parameters& values, const Machine& machine, bool combined);

}  // namespace lapwing::levels
