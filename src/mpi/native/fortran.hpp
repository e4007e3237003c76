// Fortran programs. The Fortran libraries of the MPIs call PMPI_ functions: Open MPI's in all of their
// functions, MPICH's in those of mpi_f08 that have no buffers. So what merely stands in front of the MPI_
// functions is passed by. What the Fortran libraries refer to as PMPI_X is therefore bound to Lapwing's
// MPI_X, where there is one. All that is Fortran's own (handles, logicals, MPI_IN_PLACE, statuses, indices
// from 1) stays the MPI's.
#pragma once

namespace lapwing {

// Binds the references of the Fortran libraries that are loaded, each once. A program without Fortran has
// none.
void take_fortran();

}  // namespace lapwing
