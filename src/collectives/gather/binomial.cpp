// Gather along a binomial tree.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
//
// Counted from the root, rank r collects the ranks [r, r + b) where b is its lowest bit.
#include <algorithm>

#include "collectives/arithmetic.hpp"
#include "collectives/gather/tree.hpp"

namespace lapwing::gather {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

int subtree_end(int relative, int ranks) {
    return relative == 0 ? ranks : std::min(ranks, relative + lowest_bit(relative));
}

List build(const Problem& problem, int rank, const Parameters&) {
    const int ranks = problem.ranks;
    const int relative = relative_rank(rank, problem.root, ranks);
    Place place;
    place.own = {relative, subtree_end(relative, ranks)};
    if (relative != 0) place.parent = relative - lowest_bit(relative);
    for (int child = 1; child < place.own.end - relative; child *= 2) {
        place.children.push_back({relative + child, subtree_end(relative + child, ranks)});
    }
    return build_along_tree(problem, rank, place);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, ceil_log2(problem.ranks), machine);
}

}  // namespace

extern const Algorithm binomial;
const Algorithm binomial = {
    .collective = Collective::gather,
    .name = "binomial",
    .summary = "in each step half of the ranks that still hold blocks hand them on",
    .source = "Kaiser et al. 2009, section 3.1",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
