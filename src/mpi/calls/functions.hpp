// Definitions of the functions that the program calls.
#pragma once

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "mpi/calls/call.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/signatures.hpp"

namespace lapwing {

// The MPI's own function, which is null where an MPI has taken the place of an older one with an extension.
template <typename... Parameters, typename... Arguments>
int native_init(int (*function)(Parameters...), Arguments... arguments) {
    return function != nullptr ? function(arguments...) : MPI_ERR_UNSUPPORTED_OPERATION;
}

}  // namespace lapwing

// Persistent collectives are part of MPI-4; in Open MPI 4 they are an extension, with names of its own. A
// library without it may take the place of the one that this is compiled against.
#if MPI_VERSION >= 4
#define LAPWING_HAS_PERSISTENT
#define LAPWING_DECLARE_WEAK(function)
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define LAPWING_HAS_PERSISTENT
#define LAPWING_DECLARE_WEAK(function) extern "C" __attribute__((weak)) decltype(function) function;
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allgatherv_init MPIX_Allgatherv_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Exscan_init MPIX_Exscan_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#define MPI_Neighbor_allgatherv_init MPIX_Neighbor_allgatherv_init
#define MPI_Neighbor_alltoall_init MPIX_Neighbor_alltoall_init
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#define MPI_Neighbor_alltoallw_init MPIX_Neighbor_alltoallw_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Scan_init MPIX_Scan_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#endif

#ifdef LAPWING_HAS_PERSISTENT
#define LAPWING_PERSISTENT(Init, suffix, Call, parameters, names)                                          \
    LAPWING_DECLARE_WEAK(P##Init##suffix)                                                                  \
    LAPWING_MPI Init##suffix(LAPWING_LIST parameters MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
        return persistent(Call{LAPWING_LIST names}, comm, request, [&] {                                   \
            return native_init(P##Init##suffix, LAPWING_LIST names comm, info, request);                   \
        });                                                                                                \
    }
#else
#define LAPWING_PERSISTENT(Init, suffix, Call, parameters, names)
#endif

// A nonblocking function, the blocking one, and the persistent one: of a call, with the parameters before the
// communicator, and their names. Both lists in parentheses.
#define LAPWING_FUNCTIONS(Nonblocking, Blocking, Init, suffix, Call, parameters, names)               \
    LAPWING_MPI Nonblocking##suffix(LAPWING_LIST parameters MPI_Comm comm, MPI_Request* request) {    \
        return nonblocking(Call{LAPWING_LIST names}, comm, request,                                   \
                           [&] { return P##Nonblocking##suffix(LAPWING_LIST names comm, request); }); \
    }                                                                                                 \
    LAPWING_MPI Blocking##suffix(LAPWING_LIST parameters MPI_Comm comm) {                             \
        return blocking(Call{LAPWING_LIST names}, comm,                                               \
                        [&] { return P##Blocking##suffix(LAPWING_LIST names comm); });                \
    }                                                                                                 \
    LAPWING_PERSISTENT(Init, suffix, Call, parameters, names)
