// A communicator of this rank alone, for Lapwing's own calls of the MPI. It returns errors, so no error
// handler of the program is called.
#pragma once

#include <mpi.h>

namespace lapwing {

// Creates the communicator at the first call. Returns MPI_COMM_NULL if the MPI cannot create it.
MPI_Comm own_communicator();
// Before MPI_Finalize.
void free_own_communicator();

}  // namespace lapwing
