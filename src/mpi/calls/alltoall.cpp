// MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw.
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

template <Collective which, typename Argument>
struct AlltoallCall {
    static constexpr Collective collective = which;
    Argument sent;
    Argument received;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        const auto ranks = static_cast<std::size_t>(group.ranks);
        const bool in_place = sent.in_place();
        if (!received.plausible(ranks) || (!in_place && !sent.plausible(ranks)) || aliased()) return false;
        received.set(buffers.received, group.ranks);
        if (in_place)
            buffers.sent = buffers.received;
        else
            sent.set(buffers.sent, group.ranks);
        if (buffers.sent.refused() || buffers.received.refused()) return false;
        // In place, blocks arrive where others still wait to be sent.
        buffers.copies_sent = in_place;
        describe_blocks<Argument>(problem, buffers, received.block_bytes(buffers.received));
        if constexpr (Argument::has_parts) {
            compare_own_blocks(problem.parts.front(), group.rank, buffers);
        } else if (!in_place && own_blocks_differ(sent.block_bytes(buffers.sent), problem.bytes, buffers)) {
            buffers.sent = buffers.received;
            buffers.copies_sent = true;
        }
        return true;
    }
    watch::CallArguments recorded(int) const { return {.bytes = received.recorded_bytes()}; }
    std::uint64_t profiled_bytes(const CallPeers& peers) const {
        return profiled_bytes_of(sent, peers.ranks, received, peers.ranks);
    }

  private:
    bool aliased() const {
        if constexpr (!Argument::has_parts) {
            if (sent.count == 0) return false;
        }
        return sent.is_like(received) && is_aliased(sent.buffer, received.buffer);
    }
};
using Alltoall = AlltoallCall<Collective::alltoall, BlockArgument>;
template <typename Count>
using Alltoallv = AlltoallCall<Collective::alltoallv, BlocksArgument<Count>>;
template <typename Count>
using Alltoallw = AlltoallCall<Collective::alltoallv, TypedBlocksArgument<Count, DisplacementOf<Count>>>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_ALLTOALL(suffix, Count)                                                                      \
    LAPWING_FUNCTIONS(Ialltoall, Alltoall, suffix, Alltoall, (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)), \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                          \
    LAPWING_FUNCTIONS(Ialltoallv, Alltoallv, suffix, Alltoallv<Count>,                                       \
                      (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),                          \
                      (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                            \
    LAPWING_FUNCTIONS(Ialltoallw, Alltoallw, suffix, Alltoallw<Count>,                                       \
                      (LAPWING_SENT_TYPED(Count, DisplacementOf<Count>),                                     \
                       LAPWING_RECEIVED_TYPED(Count, DisplacementOf<Count>)),                                \
                      (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))
LAPWING_WITH_COUNTS(LAPWING_ALLTOALL)
