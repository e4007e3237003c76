// Reduce along a binomial tree. For short vectors.
// Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective Communication Operations in MPICH",
// section 4.4.
//
// Counted from the root of the tree, rank r combines the ranks [r, r + b) where b is its lowest bit. The
// tree's root is the problem's root if the operator commutes, else rank 0, which sends the result on. Each
// subtree is therefore a run of neighbours, and the vectors of its children are in rank order.
#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/reduce/tree.hpp"
#include "collectives/rows.hpp"

namespace lapwing::reduce {
namespace {

int root_of_tree(const Problem& problem) {
    return problem.ordered ? 0 : problem.root;
}

Verdict applies(const Problem& problem, const Parameters&) {
    return fits_tree(problem);
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int top = root_of_tree(problem);
    const int relative = relative_rank(rank, top, ranks);
    Neighbours neighbours;
    neighbours.top = top;
    if (relative != 0) neighbours.parent = absolute_rank(relative - lowest_bit(relative), top, ranks);
    const int reach = relative == 0 ? ranks : std::min(lowest_bit(relative), ranks - relative);
    for (int distance = 1; distance < reach; distance *= 2) {
        neighbours.children.push_back(absolute_rank(relative + distance, top, ranks));
    }
    return build_along_tree(problem, rank, neighbours);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, root_of_tree(problem) != problem.root, machine);
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step half of the ranks that still hold partial results send them on",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .applies = applies,
    .build = build,
    .cost = cost,
    .paths = Paths::doubling,
};

}  // namespace lapwing::reduce
