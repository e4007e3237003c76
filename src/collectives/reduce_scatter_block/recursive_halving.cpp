// Reduce-scatter of blocks of one length by recursive halving.
// The algorithm and where it comes from: collectives/reduce_scatter/recursive_halving.cpp.
#include "collectives/reduce_scatter/algorithms.hpp"

namespace lapwing::reduce_scatter_block {

extern const Algorithm recursive_halving;
const Algorithm recursive_halving = {
    .collective = Collective::reduce_scatter_block,
    .name = "recursive_halving",
    .summary = "exchange the half that the peer keeps with the rank ..., 4, 2, 1 away",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .parameters = {},
    .applies = reduce_scatter::halving_applies,
    .build = reduce_scatter::build_halving,
    .cost = reduce_scatter::cost_of_halving,
};

}  // namespace lapwing::reduce_scatter_block
