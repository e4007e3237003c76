// Reduce-scatter of blocks of one length around a ring.
// The algorithm and where it comes from: collectives/reduce_scatter/ring.cpp.
#include "collectives/reduce_scatter/algorithms.hpp"

namespace lapwing::reduce_scatter_block {

extern const Algorithm ring;
const Algorithm ring = {
    .collective = Collective::reduce_scatter_block,
    .name = "ring",
    .summary = "pass blocks once around the ring of ranks, of which each adds its contribution",
    .source = "Chan et al. 2007",
    .parameters = {},
    .applies = reduce_scatter::ring_applies,
    .build = reduce_scatter::build_ring,
    .cost = reduce_scatter::cost_of_ring,
    .paths = Paths::numbers,
};

}  // namespace lapwing::reduce_scatter_block
