// Fortran programs. The Fortran libraries of the MPIs call PMPI_ functions: Open MPI's in all of their
// functions, MPICH's in those functions of mpi_f08 that have no buffers. A library that only replaces the
// MPI_ functions would not see these calls. The references of the Fortran libraries to PMPI_X are therefore
// bound to Lapwing's MPI_X, where it exists. The MPI still converts handles, logicals, MPI_IN_PLACE, statuses
// and indices from 1.
#pragma once

namespace lapwing {

// Binds the references of all loaded Fortran libraries. Does nothing in a program without them.
void take_fortran();

}  // namespace lapwing
