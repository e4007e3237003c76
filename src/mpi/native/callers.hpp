// Libraries whose calls of PMPI_ functions become calls of Lapwing's MPI_ functions. The loader binds PMPI_X
// to the MPI's function, so a library that only replaces the MPI_ functions would not see these calls.
// Lapwing stores the address of its MPI_X, where it has one, in the linkage tables of
//
//   the MPI's Fortran libraries: Open MPI's call PMPI_X in all of their functions, MPICH's in those functions
//   of mpi_f08 that have no buffers. The MPI still converts handles, logicals, MPI_IN_PLACE, statuses and
//   indices from 1;
//
//   profiling tools: the program calls the tool's MPI_X, the tool calls PMPI_X, and that is Lapwing's MPI_X.
//   The tool sees each call of the program once, and Lapwing takes it.
#pragma once

#include <string>
#include <vector>

namespace lapwing {

// Binds the calls of the Fortran libraries that are loaded. Does nothing in a program without them. Tools are
// loaded with the program, and are bound before it starts.
void bind_fortran();

// Returns this library's function MPI_X, although the program may call that of a tool.
void* find_own(const char* name);

// Whether this function belongs to a tool that stands before Lapwing and whose function `name` calls
// Lapwing's; without a name, to any tool that the program calls before Lapwing.
bool belongs_to_bound_tool(const void* function, const char* name = nullptr);

// The files of these tools.
std::vector<std::string> bound_tools();

}  // namespace lapwing
