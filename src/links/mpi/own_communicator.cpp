#include "links/mpi/own_communicator.hpp"

#include <atomic>

namespace lapwing {
namespace {

MPI_Comm own_handle{};
// An MPI advances all its messages when it tests a request that is not complete: here a receive that is never
// complete. A probe does not do in all MPIs: MPICH since 4.0 advances nothing in one of a communicator of one
// rank.
MPI_Request endless{};
// One thread at a time; and the MPI may call back, and so come here again.
std::atomic_flag busy;

}  // namespace

void make_own_communicator() {
    endless = MPI_REQUEST_NULL;
    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &own_handle) != MPI_SUCCESS) own_handle = MPI_COMM_NULL;
    if (own_handle == MPI_COMM_NULL) return;
    PMPI_Comm_set_errhandler(own_handle, MPI_ERRORS_RETURN);
    PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, endless_tag, own_handle, &endless);
}

MPI_Comm own_communicator() {
    return own_handle;
}

void progress_mpi() {
    if (busy.test_and_set(std::memory_order_acquire)) return;
    int complete = 0;
    if (endless != MPI_REQUEST_NULL) PMPI_Test(&endless, &complete, MPI_STATUS_IGNORE);
    busy.clear(std::memory_order_release);
}

void free_own_communicator() {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
    if (endless != MPI_REQUEST_NULL) {
        // Completed, not cancelled: some MPIs fail when they cancel.
        PMPI_Send(nullptr, 0, MPI_BYTE, 0, endless_tag, own_handle);
        PMPI_Wait(&endless, MPI_STATUS_IGNORE);
    }
    busy.clear(std::memory_order_release);
    if (own_handle != MPI_COMM_NULL) PMPI_Comm_free(&own_handle);
}

}  // namespace lapwing
