// Gather along a binomial tree.
// Kaiser et al. 2009, "Implementation and Analysis of Nonblocking Collective Operations on SCI Networks",
// section 3.1.
#include "collectives/arithmetic.hpp"
#include "collectives/gather/tree.hpp"
#include "collectives/rows.hpp"

namespace lapwing::gather {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    return build_along_tree(problem, rank, binomial_node(problem, rank));
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, ceil_log2(problem.ranks), machine);
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step half of the ranks that still hold blocks send them on",
    .source = "Kaiser et al. 2009, section 3.1",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::gather
