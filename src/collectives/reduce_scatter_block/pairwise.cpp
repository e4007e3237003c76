// Reduce-scatter of blocks of one length by pairwise exchange.
// The algorithm and where it comes from: collectives/reduce_scatter/pairwise.cpp.
#include "collectives/reduce_scatter/algorithms.hpp"

namespace lapwing::reduce_scatter_block {

extern const Algorithm pairwise;
const Algorithm pairwise = {
    .collective = Collective::reduce_scatter_block,
    .name = "pairwise",
    .summary = "exchange with one peer after the other, a window of them at a time, then combine",
    .source = "Bernaschi, Iannello 1998; Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .parameters = reduce_scatter::pairwise_parameters,
    .applies = reduce_scatter::pairwise_applies,
    .build = reduce_scatter::build_pairwise,
    .cost = reduce_scatter::cost_of_pairwise,
};

}  // namespace lapwing::reduce_scatter_block
