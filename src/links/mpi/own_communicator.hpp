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
// Before MPI_Finalize.
void free_own_communicator();

}  // namespace lapwing
