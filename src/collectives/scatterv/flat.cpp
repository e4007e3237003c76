// Scatter of blocks of several lengths with a flat tree: the root sends every rank its block. Along another
// tree ranks would have to know the lengths of others' blocks, and only the root does.
// The mirror of the gather of Kaiser et al. 2009, "Implementation and Analysis of Nonblocking
// Collective Operations on SCI Networks", section 3.1.
#include "collectives/scatter/flat.hpp"

namespace lapwing::scatterv {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters&) {
    return scatter::build_flat(problem, rank);
}

double cost(const Problem& problem, const Parameters&, const Machine& machine) {
    return scatter::cost_of_flat(problem, machine);
}

}  // namespace

extern const Algorithm flat;
const Algorithm flat = {
    .collective = Collective::scatterv,
    .name = "flat",
    .summary = "the root sends to all ranks, one after the other",
    .source = "Kaiser et al. 2009, section 3.1, mirrored",
    .parameters = {},
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::scatterv
