// A communicator of this rank alone, for what Lapwing asks of the MPI beside the program's calls. Its errors
// are returned, so no error handler of the program is called.
#pragma once

#include <mpi.h>

namespace lapwing {

// Made at its first use; MPI_COMM_NULL when the MPI cannot make it.
MPI_Comm own_communicator();
// At the end of MPI.
void free_own_communicator();

}  // namespace lapwing
