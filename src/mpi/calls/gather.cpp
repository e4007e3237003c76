// MPI_Igather(v) and MPI_Iallgather(v).
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

// Whether the arguments may be right on a rank that receives the blocks, or does not.
template <typename Received>
bool plausible_gather(const CallContext& context, const BlockArgument& sent, const Received& received,
                      bool receives) {
    if (sent.in_place() ? !receives : !sent.plausible()) return false;
    return !receives || received.plausible(context.size());
}

// Whether the MPI refuses what the rank sends, or receives of all.
template <typename Received, typename All>
bool refused_gather(const CallContext& context, const BlockArgument& sent, const Elements& own,
                    const Received& received, const All& all, bool receives) {
    return own.refused() ||
           (receives && (all.refused_where_gathered() ||
                         (!sent.in_place() && received.has_own(sent, own.layout.size, context.rank()))));
}

Started start_gather(CallContext& context, Problem problem, const BlockArgument& sent,
                     const BlockArgument& received, bool receives) {
    if (!plausible_gather(context, sent, received, receives)) return Started::declined();
    const bool in_place = sent.in_place();
    const Elements own = in_place ? Elements() : sent.elements(context);
    const Elements all = receives ? received.elements(context, context.size()) : Elements();
    if (refused_gather(context, sent, own, received, all, receives)) return Started::declined();
    const std::uint64_t block = receives ? static_cast<std::uint64_t>(received.count) : 0;
    problem.bytes = receives ? block * all.layout.size : own.bytes();
    problem.in_place = in_place;
    const std::uint64_t place = block * static_cast<std::uint64_t>(context.rank());
    return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
        if (!in_place) buffers.in = input(request, own, error);
        if (!receives || *error != MPI_SUCCESS) return;
        buffers.out = output_in_place(request, all, place, in_place ? block : 0, error);
    });
}

// `peer`: of the rank's own block.
template <typename Count>
Started start_gatherv(CallContext& context, Problem problem, const BlockArgument& sent,
                      const BlocksArgument<Count>& received, int peer, bool receives) {
    if (!plausible_gather(context, sent, received, receives)) return Started::declined();
    const bool in_place = sent.in_place();
    const Elements block = in_place ? Elements() : sent.elements(context);
    Blocks own;
    if (!in_place) own.add(peer, block);
    Blocks all;
    if (receives) all = received.blocks(context, context.all_ranks());
    if (refused_gather(context, sent, block, received, all, receives)) return Started::declined();
    if (problem.collective == Collective::allgatherv) problem.bytes = all.bytes() / context.size();
    problem.in_place = in_place;
    problem.parts.push_back({own.parts(), all.parts()});
    const auto rank = static_cast<std::size_t>(context.rank());
    return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
        if (!in_place) buffers.in = own.input(request, error);
        if (!receives || *error != MPI_SUCCESS) return;
        buffers.out = in_place ? all.output_in_place(request, rank, error) : all.output(request, error);
    });
}

struct Gather {
    static constexpr Collective collective = Collective::gather;
    BlockArgument sent;
    BlockArgument received;
    int root;

    Started start(CallContext& context) const {
        if (!context.has(root)) return Started::declined();
        return start_gather(context, {.collective = collective, .ranks = context.ranks(), .root = root}, sent,
                            received, context.rank() == root);
    }
};

template <typename Count>
struct Gatherv {
    static constexpr Collective collective = Collective::gatherv;
    BlockArgument sent;
    BlocksArgument<Count> received;
    int root;

    Started start(CallContext& context) const {
        if (!context.has(root)) return Started::declined();
        return start_gatherv(context, {.collective = collective, .ranks = context.ranks(), .root = root},
                             sent, received, root, context.rank() == root);
    }
};

struct Allgather {
    static constexpr Collective collective = Collective::allgather;
    BlockArgument sent;
    BlockArgument received;

    Started start(CallContext& context) const {
        return start_gather(context, {.collective = collective, .ranks = context.ranks()}, sent, received,
                            true);
    }
};

template <typename Count>
struct Allgatherv {
    static constexpr Collective collective = Collective::allgatherv;
    BlockArgument sent;
    BlocksArgument<Count> received;

    Started start(CallContext& context) const {
        return start_gatherv(context, {.collective = collective, .ranks = context.ranks()}, sent, received,
                             context.rank(), true);
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_GATHER(suffix, Count)                                                                  \
    LAPWING_FUNCTIONS(MPI_Igather, MPI_Gather, MPI_Gather_init, suffix, Gather,                        \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),                        \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))                              \
    LAPWING_FUNCTIONS(MPI_Igatherv, MPI_Gatherv, MPI_Gatherv_init, suffix, Gatherv<Count>,             \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count), int root),                 \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES, root))                       \
    LAPWING_FUNCTIONS(MPI_Iallgather, MPI_Allgather, MPI_Allgather_init, suffix, Allgather,            \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count)),                                  \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES))                                    \
    LAPWING_FUNCTIONS(MPI_Iallgatherv, MPI_Allgatherv, MPI_Allgatherv_init, suffix, Allgatherv<Count>, \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED_BLOCKS(Count)),                           \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_BLOCKS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_GATHER)
