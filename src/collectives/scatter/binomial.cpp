// Scatter along a binomial tree: the binomial gather, mirrored.
// Chan, Heimlich, Purkayastha, van de Geijn 2007, "Collective communication: theory, practice, and
// experience" (the scatter along a minimum spanning tree); Thakur, Rabenseifner, Gropp 2005, "Optimization
// of Collective Communication Operations in MPICH", section 4.2.
#include "collectives/arithmetic.hpp"
#include "collectives/rows.hpp"
#include "collectives/scatter/tree.hpp"

namespace lapwing::scatter {
namespace {

List build(const Problem& problem, int rank, const Parameters&) {
    return build_along_tree(problem, rank, binomial_node(problem, rank));
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return cost_along_tree(problem, ceil_log2(problem.ranks), machine);
}

}  // namespace

const Algorithm binomial = {
    .summary = "in each step the ranks that hold blocks send half of them on",
    .source = "Chan et al. 2007; Thakur, Rabenseifner, Gropp 2005, section 4.2",
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scatter
