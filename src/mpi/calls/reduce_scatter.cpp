// MPI_Ireduce_scatter_block and MPI_Ireduce_scatter.
#include <numeric>

#include "mpi/calls/functions.hpp"
#include "mpi/calls/reduction_call.hpp"

namespace lapwing {
namespace {

struct ReduceScatterBlock {
    static constexpr Collective collective = Collective::reduce_scatter_block;
    ReductionArguments<MPI_Count> arguments;

    Started start(CallContext& context) const {
        const auto& [sent, received, count, type, op] = arguments;
        if (!plausible(count, type) || !plausible(op)) return Started::declined();
        const auto block = static_cast<std::uint64_t>(count);
        const bool in_place = arguments.in_place();
        const std::uint64_t all = block * context.size();
        const ReductionCall call{op, context.elements(received, in_place ? all : block, type), all};
        Problem problem = {.collective = collective,
                           .ranks = context.ranks(),
                           .bytes = block * call.elements.layout.size,
                           .in_place = in_place};
        return call.start(context, problem, sent, true);
    }
};

template <typename Count>
struct ReduceScatter {
    static constexpr Collective collective = Collective::reduce_scatter;
    ReductionArguments<const Count*> arguments;

    Started start(CallContext& context) const {
        const auto& [sent, received, counts, type, op] = arguments;
        if (counts == nullptr || type == MPI_DATATYPE_NULL || !plausible(op) ||
            !std::all_of(counts, counts + context.size(), [](Count count) { return count >= 0; })) {
            return Started::declined();
        }
        const std::uint64_t all = std::accumulate(
            counts, counts + context.size(), std::uint64_t{0},
            [](std::uint64_t sum, Count count) { return sum + static_cast<std::uint64_t>(count); });
        const auto own = static_cast<std::uint64_t>(counts[context.rank()]);
        const bool in_place = arguments.in_place();
        const ReductionCall call{op, context.elements(received, in_place ? all : own, type), all};
        const std::uint64_t size = call.elements.layout.size;
        Problem problem = {.collective = collective,
                           .ranks = context.ranks(),
                           .bytes = all / context.size() * size,
                           .in_place = in_place};
        Parts& parts = problem.parts.emplace_back();
        std::uint64_t offset = 0;
        for (int rank = 0; rank < context.ranks(); ++rank) {
            const std::uint64_t bytes = static_cast<std::uint64_t>(counts[rank]) * size;
            parts.sends.push_back({rank, bytes == 0 ? 0 : offset, bytes});
            offset += bytes;
        }
        parts.receives.push_back({context.rank(), 0, own * size});
        return call.start(context, problem, sent, true);
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_REDUCE_SCATTER(suffix, Count)                                                             \
    LAPWING_FUNCTIONS(MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block, MPI_Reduce_scatter_block_init, \
                      suffix, ReduceScatterBlock, (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))    \
    LAPWING_FUNCTIONS(MPI_Ireduce_scatter, MPI_Reduce_scatter, MPI_Reduce_scatter_init, suffix,           \
                      ReduceScatter<Count>, (LAPWING_OPERANDS(const Count*)), (LAPWING_OPERANDS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_REDUCE_SCATTER)
