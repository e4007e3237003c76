#include "mpi/collectives/call.hpp"

namespace lapwing {
namespace {

struct Barrier {
    static constexpr Collective collective = Collective::barrier;

    bool plausible(const Group&) const { return true; }
    Started start(Group& group) const {
        return lapwing::start(group, {.collective = collective, .ranks = group.ranks},
                              [](Request&, Buffers&, int*) {});
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return nonblocking(Barrier{}, comm, request, [&] { return PMPI_Ibarrier(comm, request); });
}

LAPWING_MPI MPI_Barrier(MPI_Comm comm) {
    return blocking(Barrier{}, comm, [&] { return PMPI_Barrier(comm); });
}
