// MPI_Ineighbor_allgather(v) and MPI_Ineighbor_alltoall(v, w).
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"
#include "mpi/native/members.hpp"
#include "mpi/native/neighbor_order.hpp"

namespace lapwing {
namespace {

// The same block for each neighbour.
struct SameBlockArgument : BlockArgument {
    template <typename Peers>
    void set_for(UserBuffer& blocks, const Peers& peers) const {
        const Elements own = elements();
        set_blocks(blocks, peers, [&](std::size_t) { return own; });
        blocks.repeat_block();
    }
};

// The received parts in the order in which they arrive, see order_of_mpi().
[[maybe_unused]] std::vector<Part> arriving(const TopologyNeighbors& neighbors,
                                            const std::vector<std::size_t>& arrivals,
                                            const UserBuffer& received) {
    std::vector<Part> parts = received.parts();
    if (arrivals.empty()) return parts;
    std::vector<const Part*> by_source(neighbors.sources.size(), nullptr);
    auto next = parts.begin();
    for (std::size_t i = 0; i < by_source.size(); ++i) {
        if (neighbors.sources[i] != MPI_PROC_NULL) by_source[i] = &*next++;
    }
    std::vector<Part> ordered;
    for (const std::size_t source : arrivals) {
        if (by_source[source] != nullptr) ordered.push_back(*by_source[source]);
    }
    return ordered;
}

// `function`: for alltoall. Of an allgather, all blocks of a source are equal.
template <Collective which, typename Sent, typename Received,
          NeighborFunction function = NeighborFunction::alltoall>
struct NeighborCall {
    static constexpr Collective collective = which;
    Sent sent;
    Received received;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers, bool blocking) const {
        TopologyNeighbors neighbors;
        if (find_neighbors(group.communicator, neighbors) != MPI_SUCCESS ||
            !sent.plausible(neighbors.destinations.size()) || !received.plausible(neighbors.sources.size())) {
            return false;
        }
        sent.set_for(buffers.sent, neighbors.destinations);
        received.set_for(buffers.received, neighbors.sources);
        const bool gathers = collective == Collective::neighbor_allgather;
        if (buffers.sent.refused() ||
            (gathers ? buffers.received.refused_where_gathered() : buffers.received.refused()))
            return false;
        const auto arrivals = gathers ? std::vector<std::size_t>()
                                      : order_of_mpi(neighbors, group.communicator, function, blocking);
        own_parts(problem) = {buffers.sent.parts(), arriving(neighbors, arrivals, buffers.received)};
        compare_own_blocks(problem.parts.front(), group.rank, buffers);
        return true;
    }
    watch::CallArguments recorded(int) const { return {}; }
    std::uint64_t profiled_bytes(const CallPeers& peers) const {
        return profiled_bytes_of(sent, peers.destinations, received, peers.sources);
    }
};

using NeighborAllgather = NeighborCall<Collective::neighbor_allgather, SameBlockArgument, BlockArgument>;
template <typename Count>
using NeighborAllgatherv =
    NeighborCall<Collective::neighbor_allgather, SameBlockArgument, BlocksArgument<Count>>;
template <typename Argument, NeighborFunction function>
using NeighborAlltoallOf = NeighborCall<Collective::neighbor_alltoall, Argument, Argument, function>;
using NeighborAlltoall = NeighborAlltoallOf<BlockArgument, NeighborFunction::alltoall>;
template <typename Count>
using NeighborAlltoallv = NeighborAlltoallOf<BlocksArgument<Count>, NeighborFunction::alltoallv>;
template <typename Count>
using NeighborAlltoallw =
    NeighborAlltoallOf<TypedBlocksArgument<Count, MPI_Aint>, NeighborFunction::alltoallw>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_NEIGHBOR(suffix, Count)                                                               \
    LAPWING_FUNCTIONS(Ineighbor_allgather, Neighbor_allgather, suffix, NeighborAllgather,             \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                                 \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                   \
    LAPWING_FUNCTIONS(Ineighbor_allgatherv, Neighbor_allgatherv, suffix, NeighborAllgatherv<Count>,   \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),                          \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                            \
    LAPWING_FUNCTIONS(Ineighbor_alltoall, Neighbor_alltoall, suffix, NeighborAlltoall,                \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                                 \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                   \
    LAPWING_FUNCTIONS(Ineighbor_alltoallv, Neighbor_alltoallv, suffix, NeighborAlltoallv<Count>,      \
                      (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),                   \
                      (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                     \
    LAPWING_FUNCTIONS(Ineighbor_alltoallw, Neighbor_alltoallw, suffix, NeighborAlltoallw<Count>,      \
                      (LAPWING_SENT_TYPED(Count, MPI_Aint), LAPWING_RECEIVED_TYPED(Count, MPI_Aint)), \
                      (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))
LAPWING_WITH_COUNTS(LAPWING_NEIGHBOR)
