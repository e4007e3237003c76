// MPI_Ineighbor_allgather(v) and MPI_Ineighbor_alltoall(v, w).
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"
#include "mpi/calls/neighbors.hpp"

namespace lapwing {
namespace {

// One and the same block for each neighbour.
struct SameBlockArgument : BlockArgument {
    template <typename Peers>
    Blocks blocks(CallContext& context, const Peers& peers) const {
        const Elements own = elements(context);
        return CallContext::blocks(peers, [&](std::size_t) { return own; });
    }
};

Started start_among(CallContext& context, Collective collective, const TopologyNeighbors& neighbors,
                    const Blocks& sent, const Blocks& received) {
    const bool gathers = collective == Collective::neighbor_allgather;
    if (sent.refused() || (gathers ? received.refused_where_gathered() : received.refused()))
        return Started::declined();
    Problem problem = {.collective = collective, .ranks = context.ranks()};
    Parts& parts = problem.parts.emplace_back();
    parts.sends = sent.parts();
    // In the order in which they arrive.
    const std::vector<Part> arriving = received.parts();
    std::vector<const Part*> by_source(neighbors.sources.size(), nullptr);
    auto next = arriving.begin();
    for (std::size_t i = 0; i < by_source.size(); ++i) {
        if (neighbors.sources[i] != MPI_PROC_NULL) by_source[i] = &*next++;
    }
    for (const std::size_t source : neighbors.arrivals) {
        if (by_source[source] != nullptr) parts.receives.push_back(*by_source[source]);
    }
    return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
        buffers.in = sent.input(request, error);
        if (*error == MPI_SUCCESS) buffers.out = received.output(request, error);
    });
}

template <Collective which, typename Sent, typename Received>
struct AmongNeighbors {
    static constexpr Collective collective = which;
    Sent sent;
    Received received;

    Started start(CallContext& context) const {
        TopologyNeighbors neighbors;
        if (find_neighbors(context.communicator(), neighbors) != MPI_SUCCESS ||
            !sent.plausible(neighbors.destinations.size()) || !received.plausible(neighbors.sources.size())) {
            return Started::declined();
        }
        return start_among(context, collective, neighbors, sent.blocks(context, neighbors.destinations),
                           received.blocks(context, neighbors.sources));
    }
};

using Allgather = AmongNeighbors<Collective::neighbor_allgather, SameBlockArgument, BlockArgument>;
template <typename Count>
using Allgatherv = AmongNeighbors<Collective::neighbor_allgather, SameBlockArgument, BlocksArgument<Count>>;
template <typename Argument>
using AlltoallOf = AmongNeighbors<Collective::neighbor_alltoall, Argument, Argument>;
using Alltoall = AlltoallOf<BlockArgument>;
template <typename Count>
using Alltoallv = AlltoallOf<BlocksArgument<Count>>;
template <typename Count>
using Alltoallw = AlltoallOf<TypedBlocksArgument<Count, MPI_Aint>>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_NEIGHBOR(suffix, Count)                                                                     \
    LAPWING_FUNCTIONS(MPI_Ineighbor_allgather, MPI_Neighbor_allgather, MPI_Neighbor_allgather_init, suffix, \
                      Allgather, (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                            \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                         \
    LAPWING_FUNCTIONS(MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv_init,      \
                      suffix, Allgatherv<Count>, (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),     \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                                  \
    LAPWING_FUNCTIONS(MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall, MPI_Neighbor_alltoall_init, suffix,    \
                      Alltoall, (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                             \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                         \
    LAPWING_FUNCTIONS(MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv_init, suffix, \
                      Alltoallv<Count>, (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),       \
                      (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                           \
    LAPWING_FUNCTIONS(MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw_init, suffix, \
                      Alltoallw<Count>,                                                                     \
                      (LAPWING_SENT_TYPED(Count, MPI_Aint), LAPWING_RECEIVED_TYPED(Count, MPI_Aint)),       \
                      (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))
LAPWING_WITH_COUNTS(LAPWING_NEIGHBOR)
