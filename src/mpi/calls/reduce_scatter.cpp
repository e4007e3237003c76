// MPI_Ireduce_scatter_block and MPI_Ireduce_scatter.
#include <numeric>

#include "mpi/calls/reduction_call.hpp"

namespace lapwing {
namespace {

struct ReduceScatterBlock {
    static constexpr Collective collective = Collective::reduce_scatter_block;
    const void* send_buffer;
    void* receive_buffer;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;

    bool plausible(const Communicator&) const {
        return lapwing::plausible(count, type) && lapwing::plausible(op);
    }
    Started start(Communicator& group) const {
        const bool in_place = send_buffer == MPI_IN_PLACE;
        const auto block = static_cast<std::uint64_t>(count);
        const std::uint64_t all = block * static_cast<std::uint64_t>(group.ranks);
        const ReductionCall call{op, {receive_buffer, in_place ? all : block, type}, all};
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .bytes = block * call.elements.layout.size,
                           .in_place = in_place};
        return call.start(group, problem, send_buffer, true);
    }
};

template <typename Count>
struct AnyReduceScatter {
    static constexpr Collective collective = Collective::reduce_scatter;
    const void* send_buffer;
    void* receive_buffer;
    const Count* counts;
    MPI_Datatype type;
    MPI_Op op;

    bool plausible(const Communicator& group) const {
        return counts != nullptr && type != MPI_DATATYPE_NULL && lapwing::plausible(op) &&
               std::all_of(counts, counts + group.ranks, [](Count count) { return count >= 0; });
    }
    Started start(Communicator& group) const {
        const bool in_place = send_buffer == MPI_IN_PLACE;
        const std::uint64_t all = std::accumulate(
            counts, counts + group.ranks, std::uint64_t{0},
            [](std::uint64_t sum, Count count) { return sum + static_cast<std::uint64_t>(count); });
        const auto own = static_cast<std::uint64_t>(counts[group.rank]);
        const ReductionCall call{op, {receive_buffer, in_place ? all : own, type}, all};
        const std::uint64_t size = call.elements.layout.size;
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .bytes = all / static_cast<std::uint64_t>(group.ranks) * size,
                           .in_place = in_place};
        Parts& parts = problem.parts.emplace_back();
        std::uint64_t offset = 0;
        for (int rank = 0; rank < group.ranks; ++rank) {
            const std::uint64_t bytes = static_cast<std::uint64_t>(counts[rank]) * size;
            parts.sends.push_back({rank, bytes == 0 ? 0 : offset, bytes});
            offset += bytes;
        }
        parts.receives.push_back({group.rank, 0, own * size});
        return call.start(group, problem, send_buffer, true);
    }
};
using ReduceScatter = AnyReduceScatter<int>;
using ReduceScatter_c = AnyReduceScatter<MPI_Count>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_REDUCE_SCATTER(suffix, Count, Displacement)                                                  \
    LAPWING_FUNCTIONS(Ireduce_scatter_block##suffix, Reduce_scatter_block##suffix,                           \
                      Reduce_scatter_block_init##suffix, ReduceScatterBlock,                                 \
                      (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op),         \
                      (sent, received, count, type, op))                                                     \
    LAPWING_FUNCTIONS(Ireduce_scatter##suffix, Reduce_scatter##suffix, Reduce_scatter_init##suffix,          \
                      ReduceScatter##suffix,                                                                 \
                      (const void* sent, void* received, const Count* counts, MPI_Datatype type, MPI_Op op), \
                      (sent, received, counts, type, op))
LAPWING_WITH_COUNTS(LAPWING_REDUCE_SCATTER)
