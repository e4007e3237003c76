// MPI_Ibarrier and MPI_Ibcast.
#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

struct Barrier {
    static constexpr Collective collective = Collective::barrier;

    bool describe(const Communicator&, Problem&, UserBuffers&) const { return true; }
    watch::CallArguments recorded(int) const { return {}; }
    std::uint64_t profiled_bytes(const CallPeers&) const { return 0; }
};

struct Broadcast {
    static constexpr Collective collective = Collective::broadcast;
    BlockArgument data;
    int root;

    [[gnu::always_inline]] bool describe(const Communicator& group, Problem& problem,
                                         UserBuffers& buffers) const {
        if (!data.plausible() || !has_rank(group, root)) return false;
        const Elements elements = data.elements();
        if (elements.refused()) return false;
        problem.root = root;
        problem.bytes = elements.bytes();
        if (group.rank != root)
            buffers.received.set(elements);
        else if (group.ranks > 1)
            buffers.sent.set(elements);
        return true;
    }
    watch::CallArguments recorded(int) const { return {.root = root, .bytes = data.recorded_bytes()}; }
    std::uint64_t profiled_bytes(const CallPeers&) const { return bytes_of(data.count, data.type); }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_FUNCTIONS(Ibarrier, Barrier, , Barrier, (), ())

#define LAPWING_BROADCAST(suffix, Count) \
    LAPWING_FUNCTIONS(Ibcast, Bcast, suffix, Broadcast, (LAPWING_BUFFER(Count)), (LAPWING_BUFFER_NAMES))
LAPWING_WITH_COUNTS(LAPWING_BROADCAST)
