// Where the ranks of a benchmark run.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace lapwing::bench {

// Hosts of one machine (containers, network namespaces) share its boot: an identifier of that.
std::string machine();
// Those that this process may use: "0,1,2".
std::string processors();
// "Open MPI v4.1.4", "MPICH 4.0.2": of what the library says, the beginning.
std::string mpi_version();
// What each rank says of itself, known to all; up to 127 characters. Collective.
std::vector<std::string> of_all_ranks(MPI_Comm communicator, const std::string& own);
// Whether on some machine there are more of the communicator's ranks than processors. Collective.
bool more_ranks_than_processors(MPI_Comm communicator);

}  // namespace lapwing::bench
