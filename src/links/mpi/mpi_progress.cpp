#include "links/mpi/mpi_progress.hpp"

#include <mpi.h>

#include <atomic>

#include "links/mpi/own_communicator.hpp"

namespace lapwing {
namespace {

// An MPI advances all its messages when it tests a request that is not complete: here a receive that is never
// complete. A probe does not do in all MPIs: MPICH since 4.0 advances nothing in one of a communicator of one
// rank.
MPI_Request endless{};
bool begun = false;
// One thread at a time; and the MPI may call back, and so come here again.
std::atomic_flag busy;

}  // namespace

void progress_mpi() {
    if (busy.test_and_set(std::memory_order_acquire)) return;
    if (!begun) {
        begun = true;
        endless = MPI_REQUEST_NULL;
        if (own_communicator() != MPI_COMM_NULL)
            PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, endless_tag, own_communicator(), &endless);
    }
    int complete = 0;
    if (endless != MPI_REQUEST_NULL) PMPI_Test(&endless, &complete, MPI_STATUS_IGNORE);
    busy.clear(std::memory_order_release);
}

void end_mpi_progress() {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
    if (begun && endless != MPI_REQUEST_NULL) {
        // Completed, not cancelled: some MPIs fail when they cancel.
        PMPI_Send(nullptr, 0, MPI_BYTE, 0, endless_tag, own_communicator());
        PMPI_Wait(&endless, MPI_STATUS_IGNORE);
    }
    begun = true;
    endless = MPI_REQUEST_NULL;
    busy.clear(std::memory_order_release);
}

}  // namespace lapwing
