#include "mpi/calls/call.hpp"

namespace lapwing {
namespace {

struct Barrier {
    static constexpr Collective collective = Collective::barrier;

    bool plausible(const Communicator&) const { return true; }
    Started start(Communicator& group) const {
        Problem problem = {.collective = collective, .ranks = group.ranks};
        return lapwing::start(group, problem, [](Request&, Buffers&, int*) {});
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return nonblocking(Barrier{}, comm, request, [&] { return PMPI_Ibarrier(comm, request); });
}

#ifdef LAPWING_HAS_PERSISTENT
LAPWING_INIT(Barrier_init)(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return persistent(Barrier{}, comm, request,
                      [&] { return native_init(LAPWING_NATIVE_INIT(Barrier_init), comm, info, request); });
}
#endif

LAPWING_MPI MPI_Barrier(MPI_Comm comm) {
    return blocking(Barrier{}, comm, [&] { return PMPI_Barrier(comm); });
}
