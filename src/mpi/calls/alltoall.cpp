// MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw.
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

template <typename Argument>
bool plausible_alltoall(const CallContext& context, const Argument& sent, const Argument& received) {
    return received.plausible(context.size()) && (sent.in_place() || sent.plausible(context.size()));
}

struct Alltoall {
    static constexpr Collective collective = Collective::alltoall;
    BlockArgument sent;
    BlockArgument received;

    Started start(CallContext& context) const {
        if (!plausible_alltoall(context, sent, received)) return Started::declined();
        const bool in_place = sent.in_place();
        if (sent.count > 0 && sent.is_like(received) && is_aliased(sent.buffer, received.buffer))
            return Started::declined();
        const Elements to = received.elements(context, context.size());
        const Elements from = in_place ? to : sent.elements(context, context.size());
        if (from.refused() || to.refused()) return Started::declined();
        Problem problem = {.collective = collective,
                           .ranks = context.ranks(),
                           .bytes = static_cast<std::uint64_t>(received.count) * to.layout.size};
        return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
            // In place, blocks arrive where others are still waiting to be sent.
            buffers.in = in_place ? copied_input(request, from, error) : input(request, from, error);
            if (*error == MPI_SUCCESS) buffers.out = output(request, to, error);
        });
    }
};

// The two forms with blocks of several lengths.
template <typename Argument>
struct AlltoallOfBlocks {
    static constexpr Collective collective = Collective::alltoallv;
    Argument sent;
    Argument received;

    Started start(CallContext& context) const {
        if (!plausible_alltoall(context, sent, received)) return Started::declined();
        const bool in_place = sent.in_place();
        if (sent.is_like(received) && is_aliased(sent.buffer, received.buffer)) return Started::declined();
        const Blocks to = received.blocks(context, context.all_ranks());
        const Blocks from = in_place ? to : sent.blocks(context, context.all_ranks());
        if (from.refused() || to.refused()) return Started::declined();
        Problem problem = {.collective = collective, .ranks = context.ranks()};
        problem.parts.push_back({from.parts(), to.parts()});
        return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
            buffers.in = in_place ? from.copied_input(request, error) : from.input(request, error);
            if (*error == MPI_SUCCESS) buffers.out = to.output(request, error);
        });
    }
};
template <typename Count>
using Alltoallv = AlltoallOfBlocks<BlocksArgument<Count>>;
template <typename Count>
using Alltoallw = AlltoallOfBlocks<TypedBlocksArgument<Count, DisplacementOf<Count>>>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_ALLTOALL(suffix, Count)                                                            \
    LAPWING_FUNCTIONS(MPI_Ialltoall, MPI_Alltoall, MPI_Alltoall_init, suffix, Alltoall,            \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                              \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                \
    LAPWING_FUNCTIONS(MPI_Ialltoallv, MPI_Alltoallv, MPI_Alltoallv_init, suffix, Alltoallv<Count>, \
                      (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED_BLOCKS(Count)),                \
                      (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))                  \
    LAPWING_FUNCTIONS(MPI_Ialltoallw, MPI_Alltoallw, MPI_Alltoallw_init, suffix, Alltoallw<Count>, \
                      (LAPWING_SENT_TYPED(Count, DisplacementOf<Count>),                           \
                       LAPWING_RECEIVED_TYPED(Count, DisplacementOf<Count>)),                      \
                      (LAPWING_SENT_TYPED_NAMES, LAPWING_RECEIVED_TYPED_NAMES))
LAPWING_WITH_COUNTS(LAPWING_ALLTOALL)
