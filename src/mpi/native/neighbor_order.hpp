// Two ranks may be neighbours several times: in a periodic dimension of one or two ranks, or by parallel
// edges of a graph. Which of their blocks meet differs between MPIs, and between the functions of one MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "mpi/native/members.hpp"

namespace lapwing {

enum class NeighborFunction { alltoall, alltoallv, alltoallw };

// Returns the order in which blocks arrive by this MPI's function, blocking or not, as places in
// neighbors.sources; empty if no source occurs twice, and the order has no meaning. The first such
// communicator has this rank try the function alone, as its own neighbour. Outside of Entry.
std::vector<std::size_t> order_of_mpi(const TopologyNeighbors& neighbors, MPI_Comm communicator,
                                      NeighborFunction function, bool blocking);

}  // namespace lapwing
