// MPI_Ireduce, MPI_Iallreduce, MPI_Iscan and MPI_Iexscan: each rank has a vector of the same length.
#include "mpi/calls/functions.hpp"
#include "mpi/calls/reduction_call.hpp"

namespace lapwing {
namespace {

using Arguments = ReductionArguments<MPI_Count>;

Started start_reduction(CallContext& context, Collective collective, const Arguments& arguments, int root,
                        bool receives) {
    if (!plausible(arguments.count, arguments.type) || !plausible(arguments.op)) return Started::declined();
    const ReductionCall call{
        arguments.op, context.elements(arguments.receive_buffer, static_cast<std::uint64_t>(arguments.count),
                                       arguments.type)};
    Problem problem = {.collective = collective,
                       .ranks = context.ranks(),
                       .root = root,
                       .bytes = call.elements.bytes(),
                       .in_place = arguments.in_place()};
    return call.start(context, problem, arguments.send_buffer, receives);
}

struct Reduce {
    static constexpr Collective collective = Collective::reduce;
    Arguments arguments;
    int root;

    Started start(CallContext& context) const {
        const bool is_root = context.rank() == root;
        if (!context.has(root) || (arguments.in_place() && !is_root)) return Started::declined();
        return start_reduction(context, collective, arguments, root, is_root);
    }
};

// The three that differ in name only.
template <Collective which>
struct OfAllRanks {
    static constexpr Collective collective = which;
    Arguments arguments;

    Started start(CallContext& context) const {
        // Rank 0 receives nothing in an exclusive scan; but in place its own vector is in that buffer.
        const bool receives = collective != Collective::exscan || context.rank() > 0 || arguments.in_place();
        return start_reduction(context, collective, arguments, 0, receives);
    }
};
using Allreduce = OfAllRanks<Collective::allreduce>;
using Scan = OfAllRanks<Collective::scan>;
using Exscan = OfAllRanks<Collective::exscan>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_REDUCE(suffix, Count)                                                                      \
    LAPWING_FUNCTIONS(MPI_Ireduce, MPI_Reduce, MPI_Reduce_init, suffix, Reduce,                            \
                      (LAPWING_OPERANDS(Count), int root), (LAPWING_OPERANDS_NAMES, root))                 \
    LAPWING_FUNCTIONS(MPI_Iallreduce, MPI_Allreduce, MPI_Allreduce_init, suffix, Allreduce,                \
                      (LAPWING_OPERANDS(Count)), (LAPWING_OPERANDS_NAMES))                                 \
    LAPWING_FUNCTIONS(MPI_Iscan, MPI_Scan, MPI_Scan_init, suffix, Scan, (LAPWING_OPERANDS(Count)),         \
                      (LAPWING_OPERANDS_NAMES))                                                            \
    LAPWING_FUNCTIONS(MPI_Iexscan, MPI_Exscan, MPI_Exscan_init, suffix, Exscan, (LAPWING_OPERANDS(Count)), \
                      (LAPWING_OPERANDS_NAMES))
LAPWING_WITH_COUNTS(LAPWING_REDUCE)
