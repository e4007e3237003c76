// MPI_Ireduce, MPI_Iallreduce, MPI_Iscan and MPI_Iexscan: each rank has a vector of the same length.
#include "mpi/calls/functions.hpp"
#include "mpi/calls/reduction_call.hpp"

namespace lapwing {
namespace {

using Arguments = ReductionArguments<MPI_Count>;

bool describe_reduction(Problem& problem, UserBuffers& buffers, const Arguments& arguments, bool receives) {
    const auto& [sent, received, count, type, op] = arguments;
    if (!plausible(count, type) || !plausible(op)) return false;
    const Elements result(received, static_cast<std::uint64_t>(count), type);
    problem.bytes = result.bytes();
    problem.in_place = arguments.in_place();
    return describe_operands(problem, buffers, {op, sent, result, result.count, receives});
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
    Transfer transfer(const CallPeers&) const { return arguments.transfer(); }
};

template <Collective which>
struct ReductionAtAllRanks {
    static constexpr Collective collective = which;
    Arguments arguments;

    bool describe(const Communicator& group, Problem& problem, UserBuffers& buffers) const {
        // Rank 0 of an exclusive scan receives nothing; but in place, the receive buffer has its input.
        const bool receives = collective != Collective::exscan || group.rank > 0 || arguments.in_place();
        return describe_reduction(problem, buffers, arguments, receives);
    }
    watch::CallArguments recorded(int) const { return arguments.recorded(); }
    Transfer transfer(const CallPeers&) const { return arguments.transfer(); }
};
using Allreduce = ReductionAtAllRanks<Collective::allreduce>;
using Scan = ReductionAtAllRanks<Collective::scan>;
using Exscan = ReductionAtAllRanks<Collective::exscan>;

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
