// MPI_Igather(v) and MPI_Iallgather(v).
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

// The root, or every rank, receives a block from each rank.
template <Collective which, typename Received>
struct GatherCall {
    static constexpr Collective collective = which;
    static constexpr bool has_root = which == Collective::gather || which == Collective::gatherv;
    BlockArgument sent;
    Received received;
    int root = 0;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        if (!has_rank(group, root)) return false;
        const bool receives = !has_root || group.rank == root;
        bool in_place = sent.in_place();
        if (in_place ? !receives : !sent.plausible()) return false;
        if (receives && !received.plausible(static_cast<std::size_t>(group.ranks))) return false;
        const Elements own = in_place ? Elements() : sent.elements();
        if (own.refused()) return false;
        if (receives) {
            received.set(buffers.received, group.ranks);
            if (buffers.received.refused_where_gathered()) return false;
            if (!in_place) {
                if (received.has_own(sent, own.layout.size, group.rank)) return false;
                in_place =
                    own_blocks_differ(own.bytes(), received.own_bytes(buffers.received, group.rank), buffers);
            }
            if (in_place) received.contribute(buffers.received, group.rank);
        }
        if (!in_place) buffers.sent.set(own, has_root ? root : group.rank);
        problem.root = root;
        problem.in_place = in_place;
        describe_blocks<Received>(problem, buffers,
                                  receives ? received.block_bytes(buffers.received) : own.bytes());
        if (which == Collective::allgatherv)
            problem.bytes = buffers.received.bytes() / static_cast<std::uint64_t>(group.ranks);
        return true;
    }
    watch::CallArguments recorded(int rank) const {
        const bool receives = !has_root || rank == root;
        const bool blocks_differ = Received::has_parts;
        return {.root = has_root ? root : -1,
                .bytes = blocks_differ ? 0
                         : receives    ? received.recorded_bytes()
                                       : sent.recorded_bytes()};
    }
    std::uint64_t profiled_bytes(const CallPeers& peers) const {
        const bool receives = !has_root || peers.is_root(root);
        return profiled_bytes_of(sent, peers.ranks, received, receives ? peers.ranks : no_part);
    }
};
using Gather = GatherCall<Collective::gather, BlockArgument>;
using Allgather = GatherCall<Collective::allgather, BlockArgument>;
template <typename Count>
using Gatherv = GatherCall<Collective::gatherv, BlocksArgument<Count>>;
template <typename Count>
using Allgatherv = GatherCall<Collective::allgatherv, BlocksArgument<Count>>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_GATHER(suffix, Count)                                                  \
    LAPWING_FUNCTIONS(Igather, Gather, suffix, Gather,                                 \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),        \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))              \
    LAPWING_FUNCTIONS(Igatherv, Gatherv, suffix, Gatherv<Count>,                       \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count), int root), \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES, root))       \
    LAPWING_FUNCTIONS(Iallgather, Allgather, suffix, Allgather,                        \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                  \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                    \
    LAPWING_FUNCTIONS(Iallgatherv, Allgatherv, suffix, Allgatherv<Count>,              \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),           \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_GATHER)
