// Hints: engine and algorithms that the program asks for on one communicator, by MPI_Comm_set_info or
// MPI_Comm_dup_with_info, before the communicator's first collective.
#pragma once

#include <mpi.h>

namespace lapwing {

// Applies the hints among `info`; then the ranks agree where they must early (agree_early()). Returns an MPI
// error code. Collective if a hint names a file of lists.
int apply_hints(MPI_Comm communicator, MPI_Info info);

}  // namespace lapwing
