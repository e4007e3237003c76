// The reductions: MPI_Ireduce, MPI_Iallreduce, MPI_Iscan, MPI_Iexscan, MPI_Ireduce_scatter_block and
// MPI_Ireduce_scatter.
#include <numeric>
#include <type_traits>

#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/reduction.hpp"

namespace lapwing {
namespace {

bool may_reduce(MPI_Op op) {
    return op != MPI_OP_NULL && op != MPI_REPLACE && op != MPI_NO_OP;
}

// The arguments of a reduction. `Count` is a list of counts, one for each rank, in MPI_Reduce_scatter.
template <typename Count>
struct ReductionArguments {
    const void* send_buffer;
    void* receive_buffer;
    Count count;
    MPI_Datatype type;
    MPI_Op op;

    bool in_place() const { return send_buffer == MPI_IN_PLACE; }
    watch::CallArguments recorded(int root = -1) const {
        watch::CallArguments arguments{.root = root};
        if constexpr (!std::is_pointer_v<Count>) arguments.bytes = recorded_bytes(count, type);
        record_reduction(arguments, op, type);
        return arguments;
    }
    std::uint64_t profiled_bytes() const { return bytes_of(count, type); }
};

struct Operands {
    MPI_Op op;
    const void* send_buffer;  // may be MPI_IN_PLACE
    const Elements& result;   // on a rank without a result, only its type and count have a meaning
    std::uint64_t sent;       // elements that the rank contributes
    bool receives;            // the rank has a result, or its input is in the receive buffer
};

// Whether the MPI refuses the type or a buffer.
bool refused(const Problem& problem, const Operands& operands) {
    const auto& [op, send_buffer, result, sent, receives] = operands;
    if (result.refused() || (sent > 0 && !result.layout.committed)) return true;
    // The MPI also checks the receive buffer on ranks without a result, except in MPI_Reduce.
    const bool has_result = receives || problem.collective != Collective::reduce;
    const auto missing = [&type = result.type](const void* buffer, std::uint64_t count) {
        return may_be_no_buffer(buffer) && is_no_buffer(buffer, count > 0, type);
    };
    if (has_result && missing(result.address, result.count)) return true;
    return !problem.in_place && (missing(send_buffer, sent) ||
                                 (has_result && send_buffer == result.address &&
                                  is_aliased(problem.collective, send_buffer, result.address, sent)));
}

// Completes the description of a reduction. Returns false if the native MPI must run it.
bool describe_operands(Problem& problem, UserBuffers& buffers, const Operands& operands) {
    const auto& [op, send_buffer, result, sent, receives] = operands;
    // An element without data is no operand.
    if (refused(problem, operands) || result.layout.size == 0) return false;
    if (!describe_operator(op, result.type, result.layout, problem)) return false;
    if (problem.op == Operator::user) buffers.reduction = {op, result.type, result.layout};
    if (!problem.in_place) buffers.sent.set({send_buffer, sent, result.type, result.layout});
    if (receives) {
        buffers.received.set(result);
        if (problem.in_place) buffers.received.contributes(result, 0);
    }
    return true;
}

using Arguments = ReductionArguments<MPI_Count>;

// `blocks`: that each rank contributes.
bool describe_reduction(Problem& problem, UserBuffers& buffers, const Arguments& arguments, bool receives,
                        int blocks = 1) {
    const auto& [sent, received, count, type, op] = arguments;
    if (!plausible(count, type) || !may_reduce(op)) return false;
    const auto block = static_cast<std::uint64_t>(count);
    const std::uint64_t all = block * static_cast<std::uint64_t>(blocks);
    const Elements result(received, arguments.in_place() ? all : block, type);
    problem.bytes = block * result.layout.size;
    problem.in_place = arguments.in_place();
    return describe_operands(problem, buffers, {op, sent, result, all, receives});
}

struct Reduce {
    static constexpr Collective collective = Collective::reduce;
    Arguments arguments;
    int root;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        const bool is_root = group.rank == root;
        if (!has_rank(group, root) || (arguments.in_place() && !is_root)) return false;
        problem.root = root;
        return describe_reduction(problem, buffers, arguments, is_root);
    }
    watch::CallArguments recorded(int) const { return arguments.recorded(root); }
    std::uint64_t profiled_bytes(const CallPeers&) const { return arguments.profiled_bytes(); }
};

template <Collective which>
struct ReductionAtAllRanks {
    static constexpr Collective collective = which;
    Arguments arguments;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        // Rank 0 of an exclusive scan receives nothing; but in place, the receive buffer has its input.
        const bool receives = collective != Collective::exscan || group.rank > 0 || arguments.in_place();
        const int blocks = collective == Collective::reduce_scatter_block ? group.ranks : 1;
        return describe_reduction(problem, buffers, arguments, receives, blocks);
    }
    watch::CallArguments recorded(int) const { return arguments.recorded(); }
    std::uint64_t profiled_bytes(const CallPeers&) const { return arguments.profiled_bytes(); }
};
using Allreduce = ReductionAtAllRanks<Collective::allreduce>;
using Scan = ReductionAtAllRanks<Collective::scan>;
using Exscan = ReductionAtAllRanks<Collective::exscan>;
using ReduceScatterBlock = ReductionAtAllRanks<Collective::reduce_scatter_block>;

template <typename Count>
struct ReduceScatter {
    static constexpr Collective collective = Collective::reduce_scatter;
    ReductionArguments<const Count*> arguments;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        const auto& [sent, received, counts, type, op] = arguments;
        if (counts == nullptr || type == MPI_DATATYPE_NULL || !may_reduce(op) ||
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
        Parts& parts = own_parts(problem);
        parts.sends.clear();
        std::uint64_t offset = 0;
        for (int rank = 0; rank < group.ranks; ++rank) {
            const std::uint64_t bytes = static_cast<std::uint64_t>(counts[rank]) * size;
            parts.sends.push_back({rank, bytes == 0 ? 0 : offset, bytes});
            offset += bytes;
        }
        parts.receives.assign(1, {group.rank, 0, own * size});
        return describe_operands(problem, buffers, {op, sent, result, all, true});
    }
    watch::CallArguments recorded(int) const { return arguments.recorded(); }
    std::uint64_t profiled_bytes(const CallPeers& peers) const {
        const BlocksArgument<Count> results{nullptr, arguments.count, nullptr, arguments.type};
        return results.profiled_bytes(peers.ranks);
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_REDUCE(suffix, Count)                                                                 \
    LAPWING_FUNCTIONS(Ireduce, Reduce, suffix, Reduce, (LAPWING_OPERANDS(Count), int root),           \
                      (LAPWING_OPERANDS_NAMES, root))                                                 \
    LAPWING_FUNCTIONS(Iallreduce, Allreduce, suffix, Allreduce, (LAPWING_OPERANDS(Count)),            \
                      (LAPWING_OPERANDS_NAMES))                                                       \
    LAPWING_FUNCTIONS(Iscan, Scan, suffix, Scan, (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES)) \
    LAPWING_FUNCTIONS(Iexscan, Exscan, suffix, Exscan, (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_REDUCE)

#define LAPWING_REDUCE_SCATTER(suffix, Count)                                                  \
    LAPWING_FUNCTIONS(Ireduce_scatter_block, Reduce_scatter_block, suffix, ReduceScatterBlock, \
                      (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                     \
    LAPWING_FUNCTIONS(Ireduce_scatter, Reduce_scatter, suffix, ReduceScatter<Count>,           \
                      (LAPWING_OPERANDS(const Count*)), (LAPWING_OPERANDS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_REDUCE_SCATTER)
