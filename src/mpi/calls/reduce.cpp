// MPI_Ireduce, MPI_Iallreduce, MPI_Iscan and MPI_Iexscan: each rank has a vector of the same length.
#include "mpi/calls/reduction_call.hpp"

namespace lapwing {
namespace {

struct Reduce {
    static constexpr Collective collective = Collective::reduce;
    const void* send_buffer;
    void* receive_buffer;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    int root;

    bool plausible(const Communicator& group) const {
        return plausible_root(group, root) && lapwing::plausible(count, type) && lapwing::plausible(op) &&
               (send_buffer != MPI_IN_PLACE || group.rank == root);
    }
    Started start(Communicator& group) const {
        const bool is_root = group.rank == root;
        const ReductionCall call{op, {receive_buffer, static_cast<std::uint64_t>(count), type}};
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .root = root,
                           .bytes = call.elements.bytes(),
                           .in_place = send_buffer == MPI_IN_PLACE};
        return call.start(group, problem, send_buffer, is_root);
    }
};

// The three that differ in name only.
template <Collective which>
struct OfAllRanks {
    static constexpr Collective collective = which;
    const void* send_buffer;
    void* receive_buffer;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;

    bool plausible(const Communicator&) const {
        return lapwing::plausible(count, type) && lapwing::plausible(op);
    }
    Started start(Communicator& group) const {
        const ReductionCall call{op, {receive_buffer, static_cast<std::uint64_t>(count), type}};
        Problem problem = {.collective = collective,
                           .ranks = group.ranks,
                           .bytes = call.elements.bytes(),
                           .in_place = send_buffer == MPI_IN_PLACE};
        // There is nothing for rank 0 in an exclusive scan; but in place its vector stands in out.
        const bool receives = collective != Collective::exscan || group.rank > 0 || problem.in_place;
        return call.start(group, problem, send_buffer, receives);
    }
};
using Allreduce = OfAllRanks<Collective::allreduce>;
using Scan = OfAllRanks<Collective::scan>;
using Exscan = OfAllRanks<Collective::exscan>;

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_REDUCE(suffix, Count, Displacement)                                                  \
    LAPWING_FUNCTIONS(                                                                               \
        Ireduce##suffix, Reduce##suffix, Reduce_init##suffix, Reduce,                                \
        (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op, int root),     \
        (sent, received, count, type, op, root))                                                     \
    LAPWING_FUNCTIONS(Iallreduce##suffix, Allreduce##suffix, Allreduce_init##suffix, Allreduce,      \
                      (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op), \
                      (sent, received, count, type, op))                                             \
    LAPWING_FUNCTIONS(Iscan##suffix, Scan##suffix, Scan_init##suffix, Scan,                          \
                      (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op), \
                      (sent, received, count, type, op))                                             \
    LAPWING_FUNCTIONS(Iexscan##suffix, Exscan##suffix, Exscan_init##suffix, Exscan,                  \
                      (const void* sent, void* received, Count count, MPI_Datatype type, MPI_Op op), \
                      (sent, received, count, type, op))
LAPWING_WITH_COUNTS(LAPWING_REDUCE)
