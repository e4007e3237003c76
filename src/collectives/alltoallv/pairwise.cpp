// Alltoall of blocks of several lengths by pairwise exchange with a communication window.
// Kandalla et al. 2011, "Improving Parallel 3D FFT Performance using Hardware Offloaded Collective
// Communication on Modern InfiniBand Clusters", section IV-B; Kaiser et al. 2009, "Implementation and
// Analysis of Nonblocking Collective Operations on SCI Networks", section 3.2.
#include "collectives/alltoall/exchange.hpp"
#include "collectives/alltoallv/default_block.hpp"

namespace lapwing::alltoallv {
namespace {

Verdict applies(const Problem&, const Parameters&) {
    return Verdict::yes();
}

List build(const Problem& problem, int rank, const Parameters& values) {
    return alltoall::build_pairwise(problem, rank, values[0]);
}

double cost(const Problem& problem, const Parameters& values, const Machine& machine) {
    return alltoall::cost_of_pairwise(problem.ranks, default_block, values[0], machine);
}

}  // namespace

extern const Algorithm pairwise;
const Algorithm pairwise = {
    .collective = Collective::alltoallv,
    .name = "pairwise",
    .summary = "exchange with one peer after the other, a window of them at a time",
    .source = "Kandalla et al. 2011 (P3DFFT), section IV-B; Kaiser et al. 2009, section 3.2",
    .parameters = alltoall::pairwise_parameters,
    .applies = applies,
    .build = build,
    .cost = cost,
};

}  // namespace lapwing::alltoallv
