// MPI_Iscatter and MPI_Iscatterv.
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

template <typename Sent>
bool plausible_scatter(const CallContext& context, const Sent& sent, const BlockArgument& received,
                       int root) {
    if (!context.has(root)) return false;
    const bool is_root = context.rank() == root;
    if (is_root && !sent.plausible(context.size())) return false;
    return received.in_place() ? is_root : received.plausible();
}

// Whether the MPI refuses what the root sends, or the rank receives.
template <typename Sent, typename All>
bool refused_scatter(const Sent& sent, const All& all, const BlockArgument& received, const Elements& own,
                     bool is_root, int root) {
    return own.refused_where_gathered() || all.refused() ||
           (is_root && !received.in_place() && sent.has_own(received, own.layout.size, root));
}

struct Scatter {
    static constexpr Collective collective = Collective::scatter;
    BlockArgument sent;
    BlockArgument received;
    int root;

    Started start(CallContext& context) const {
        if (!plausible_scatter(context, sent, received, root)) return Started::declined();
        const bool is_root = context.rank() == root;
        const bool in_place = received.in_place();
        const Elements all = is_root ? sent.elements(context, context.size()) : Elements();
        const Elements own = in_place ? Elements() : received.elements(context);
        if (refused_scatter(sent, all, received, own, is_root, root)) return Started::declined();
        Problem problem = {
            .collective = collective,
            .ranks = context.ranks(),
            .root = root,
            .bytes = is_root ? static_cast<std::uint64_t>(sent.count) * all.layout.size : own.bytes(),
            .in_place = in_place};
        return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
            if (is_root) buffers.in = input(request, all, error);
            if (!in_place && *error == MPI_SUCCESS) buffers.out = output(request, own, error);
        });
    }
};

template <typename Count>
struct Scatterv {
    static constexpr Collective collective = Collective::scatterv;
    BlocksArgument<Count> sent;
    BlockArgument received;
    int root;

    Started start(CallContext& context) const {
        if (!plausible_scatter(context, sent, received, root)) return Started::declined();
        const bool is_root = context.rank() == root;
        const bool in_place = received.in_place();
        Blocks all;
        if (is_root) all = sent.blocks(context, context.all_ranks());
        const Elements block = in_place ? Elements() : received.elements(context);
        Blocks own;
        if (!in_place) own.add(root, block);
        if (refused_scatter(sent, all, received, block, is_root, root)) return Started::declined();
        Problem problem = {
            .collective = collective, .ranks = context.ranks(), .root = root, .in_place = in_place};
        problem.parts.push_back({all.parts(), own.parts()});
        return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
            if (is_root) buffers.in = all.input(request, error);
            if (!in_place && *error == MPI_SUCCESS) buffers.out = own.output(request, error);
        });
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_SCATTER(suffix, Count)                                                         \
    LAPWING_FUNCTIONS(MPI_Iscatter, MPI_Scatter, MPI_Scatter_init, suffix, Scatter,            \
                      (LAPWING_SENT(Count), LAPWING_RECEIVED(Count), int root),                \
                      (LAPWING_SENT_NAMES, LAPWING_RECEIVED_NAMES, root))                      \
    LAPWING_FUNCTIONS(MPI_Iscatterv, MPI_Scatterv, MPI_Scatterv_init, suffix, Scatterv<Count>, \
                      (LAPWING_SENT_BLOCKS(Count), LAPWING_RECEIVED(Count), int root),         \
                      (LAPWING_SENT_BLOCKS_NAMES, LAPWING_RECEIVED_NAMES, root))
LAPWING_WITH_COUNTS(LAPWING_SCATTER)
