// A communicator of this rank alone, for Lapwing's own calls of the MPI. It returns errors, so no error
// handler of the program is called.
#pragma once

#include <mpi.h>

namespace lapwing {

// After MPI_Init, before any other function of Lapwing may run in the MPI's progress: to make a communicator,
// the MPI may make progress.
void make_own_communicator();
// MPI_COMM_NULL if the MPI could not make it.
MPI_Comm own_communicator();
// Tags of messages there: of progress_mpi(), of packing(), and from the last one on of persistent requests.
enum : int { endless_tag, packing_tag, first_persistent_tag };
// Before MPI_Finalize.
void free_own_communicator();

}  // namespace lapwing
