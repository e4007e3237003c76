// MPI_Ireduce_scatter_block and MPI_Ireduce_scatter.
#include <numeric>

#include "mpi/calls/functions.hpp"
#include "mpi/calls/reduction_call.hpp"

namespace lapwing {
namespace {

struct ReduceScatterBlock {
    static constexpr Collective collective = Collective::reduce_scatter_block;
    ReductionArguments<MPI_Count> arguments;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        const auto& [sent, received, count, type, op] = arguments;
        if (!plausible(count, type) || !plausible(op)) return false;
        const auto block = static_cast<std::uint64_t>(count);
        const std::uint64_t all = block * static_cast<std::uint64_t>(group.ranks);
        const Elements result(received, arguments.in_place() ? all : block, type);
        problem.bytes = block * result.layout.size;
        problem.in_place = arguments.in_place();
        return describe_operands(problem, buffers, {op, sent, result, all, true});
    }
    watch::CallArguments recorded(int) const { return arguments.recorded(); }
    Transfer transfer(const CallPeers&) const { return arguments.transfer(); }
};

template <typename Count>
struct ReduceScatter {
    static constexpr Collective collective = Collective::reduce_scatter;
    ReductionArguments<const Count*> arguments;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        const auto& [sent, received, counts, type, op] = arguments;
        if (counts == nullptr || type == MPI_DATATYPE_NULL || !plausible(op) ||
            !std::all_of(counts, counts + group.ranks, [](Count count) { return count >= 0; })) {
            return false;
        }
        const std::uint64_t all = std::accumulate(
            counts, counts + group.ranks, std::uint64_t{0},
            [](std::uint64_t sum, Count count) { return sum + static_cast<std::uint64_t>(count); });
        const auto own = static_cast<std::uint64_t>(counts[group.rank]);
        const Elements result(received, arguments.in_place() ? all : own, type);
        const std::uint64_t size = result.layout.size;
        problem.bytes = all / static_cast<std::uint64_t>(group.ranks) * size;
        problem.in_place = arguments.in_place();
        Parts& parts = problem.parts.emplace_back();
        std::uint64_t offset = 0;
        for (int rank = 0; rank < group.ranks; ++rank) {
            const std::uint64_t bytes = static_cast<std::uint64_t>(counts[rank]) * size;
            parts.sends.push_back({rank, bytes == 0 ? 0 : offset, bytes});
            offset += bytes;
        }
        parts.receives.push_back({group.rank, 0, own * size});
        return describe_operands(problem, buffers, {op, sent, result, all, true});
    }
    watch::CallArguments recorded(int) const { return arguments.recorded(); }
    Transfer transfer(const CallPeers& peers) const {
        const BlocksArgument<Count> results{nullptr, arguments.count, nullptr, arguments.type};
        return arguments.transfer(results.volume(peers.ranks));
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_REDUCE_SCATTER(suffix, Count)                                                  \
    LAPWING_FUNCTIONS(Ireduce_scatter_block, Reduce_scatter_block, suffix, ReduceScatterBlock, \
                      (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                     \
    LAPWING_FUNCTIONS(Ireduce_scatter, Reduce_scatter, suffix, ReduceScatter<Count>,           \
                      (LAPWING_OPERANDS(const Count*)), (LAPWING_OPERANDS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_REDUCE_SCATTER)
