// MPI_Iscatter and MPI_Iscatterv.
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

template <Collective which, typename Sent>
struct ScatterCall {
    static constexpr Collective collective = which;
    Sent sent;
    BlockArgument received;
    int root;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        if (!has_rank(group, root)) return false;
        const bool is_root = group.rank == root;
        bool in_place = received.in_place();
        if (is_root && !sent.plausible(static_cast<std::size_t>(group.ranks))) return false;
        if (in_place ? !is_root : !received.plausible()) return false;
        const Elements own = in_place ? Elements() : received.elements();
        if (own.refused_where_gathered()) return false;
        if (is_root) {
            sent.set(buffers.sent, group.ranks);
            if (buffers.sent.refused()) return false;
            if (!in_place) {
                if (sent.has_own(received, own.layout.size, root)) return false;
                in_place = own_blocks_differ(sent.own_bytes(buffers.sent, root), own.bytes(), buffers);
            }
        }
        if (!in_place) buffers.received.set(own, root);
        problem.root = root;
        problem.in_place = in_place;
        describe_blocks<Sent>(problem, buffers, is_root ? sent.block_bytes(buffers.sent) : own.bytes());
        return true;
    }
    watch::CallArguments recorded(int rank) const {
        const bool blocks_differ = Sent::has_parts;
        return {.root = root,
                .bytes = blocks_differ  ? 0
                         : rank == root ? sent.recorded_bytes()
                                        : received.recorded_bytes()};
    }
    std::uint64_t profiled_bytes(const CallPeers& peers) const {
        return profiled_bytes_of(sent, peers.is_root(root) ? peers.ranks : no_part, received, peers.ranks);
    }
};
using Scatter = ScatterCall<Collective::scatter, BlockArgument>;
template <typename Count>
using Scatterv = ScatterCall<Collective::scatterv, BlocksArgument<Count>>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_SCATTER(suffix, Count)                                                 \
    LAPWING_FUNCTIONS(Iscatter, Scatter, suffix, Scatter,                              \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),        \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))              \
    LAPWING_FUNCTIONS(Iscatterv, Scatterv, suffix, Scatterv<Count>,                    \
                      (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED(Count), int root), \
                      (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_NAMES, root))
LAPWING_WITH_COUNTS(LAPWING_SCATTER)
