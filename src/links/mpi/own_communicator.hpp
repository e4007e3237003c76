// A communicator of this rank alone, for Lapwing's own calls of the MPI. It returns errors, so no error
// handler of the program is called.
#pragma once

#include <mpi.h>

namespace lapwing {

// After MPI_Init, before any other function of Lapwing may run in the MPI's progress: to make a communicator,
// the MPI may make progress.
// Posts the receive that progress_mpi() tests.
void make_own_communicator();
// MPI_COMM_NULL if the MPI could not make it.
MPI_Comm own_communicator();
// Tags of messages there: of progress_mpi(), of packing(), and from the last one on of persistent requests.
enum : int { endless_tag, packing_tag, first_persistent_tag };
// Advances what the native MPI has in flight, once: the program's messages and Lapwing's. Errors belong to
// the calls that wait for the messages. After make_own_communicator().
void progress_mpi();
// Before MPI_Finalize, which may wait for the request that progress_mpi() tests.
void free_own_communicator();

}  // namespace lapwing
