// MPI_Igather(v), MPI_Iscatter(v) and MPI_Iallgather(v).
#include <tuple>
#include <type_traits>

#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

// One rank's block, and the blocks of all ranks, which the root or every rank has: a gather receives them,
// and a scatter sends them.
template <Collective which, typename Sent, typename Received>
struct GatherOrScatter {
    static constexpr Collective collective = which;
    static constexpr bool rooted = has_root(which);
    static constexpr bool scatters = which == Collective::scatter || which == Collective::scatterv;
    using All = std::conditional_t<scatters, Sent, Received>;
    Sent sent;
    Received received;
    int root = 0;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        if (!has_rank(group, root)) return false;
        const bool has_all = !rooted || group.rank == root;
        bool in_place = own().in_place();
        if (in_place ? !has_all : !own().plausible()) return false;
        if (has_all && !all().plausible(static_cast<std::size_t>(group.ranks))) return false;
        const Elements block = in_place ? Elements() : own().elements();
        if (scatters ? block.refused_where_gathered() : block.refused()) return false;
        UserBuffer& of_all = scatters ? buffers.sent : buffers.received;
        if (has_all) {
            all().set(of_all, group.ranks);
            if (scatters ? of_all.refused() : of_all.refused_where_gathered()) return false;
            if (!in_place) {
                if (all().has_own(own(), block.layout.size, group.rank)) return false;
                in_place = own_blocks_differ(block.bytes(), all().own_bytes(of_all, group.rank), buffers);
            }
            if (in_place && !scatters) all().contribute(of_all, group.rank);
        }
        if (!in_place) (scatters ? buffers.received : buffers.sent).set(block, rooted ? root : group.rank);
        problem.root = root;
        problem.in_place = in_place;
        describe_blocks<All>(problem, buffers, has_all ? all().block_bytes(of_all) : block.bytes());
        if (which == Collective::allgatherv)
            problem.bytes = of_all.bytes() / static_cast<std::uint64_t>(group.ranks);
        return true;
    }
    watch::CallArguments recorded(int rank) const {
        const bool has_all = !rooted || rank == root;
        return {.root = rooted ? root : -1,
                .bytes = All::has_parts ? 0
                         : has_all      ? all().recorded_bytes()
                                        : own().recorded_bytes()};
    }
    std::uint64_t profiled_bytes(const CallPeers& peers) const {
        const int blocks = !rooted || peers.is_root(root) ? peers.ranks : no_part;
        return scatters ? profiled_bytes_of(sent, blocks, received, peers.ranks)
                        : profiled_bytes_of(sent, peers.ranks, received, blocks);
    }

  private:
    static constexpr std::size_t all_at = scatters ? 0 : 1;  // in (sent, received)
    const All& all() const { return std::get<all_at>(std::tie(sent, received)); }
    const BlockArgument& own() const { return std::get<1 - all_at>(std::tie(sent, received)); }
};
using Gather = GatherOrScatter<Collective::gather, BlockArgument, BlockArgument>;
using Scatter = GatherOrScatter<Collective::scatter, BlockArgument, BlockArgument>;
using Allgather = GatherOrScatter<Collective::allgather, BlockArgument, BlockArgument>;
template <typename Count>
using Gatherv = GatherOrScatter<Collective::gatherv, BlockArgument, BlocksArgument<Count>>;
template <typename Count>
using Scatterv = GatherOrScatter<Collective::scatterv, BlocksArgument<Count>, BlockArgument>;
template <typename Count>
using Allgatherv = GatherOrScatter<Collective::allgatherv, BlockArgument, BlocksArgument<Count>>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_GATHER_SCATTER(suffix, Count)                                          \
    LAPWING_FUNCTIONS(Igather, Gather, suffix, Gather,                                 \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),        \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))              \
    LAPWING_FUNCTIONS(Igatherv, Gatherv, suffix, Gatherv<Count>,                       \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count), int root), \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES, root))       \
    LAPWING_FUNCTIONS(Iscatter, Scatter, suffix, Scatter,                              \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),        \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))              \
    LAPWING_FUNCTIONS(Iscatterv, Scatterv, suffix, Scatterv<Count>,                    \
                      (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED(Count), int root), \
                      (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_NAMES, root))       \
    LAPWING_FUNCTIONS(Iallgather, Allgather, suffix, Allgather,                        \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                  \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                    \
    LAPWING_FUNCTIONS(Iallgatherv, Allgatherv, suffix, Allgatherv<Count>,              \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),           \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_GATHER_SCATTER)
