// Two ranks may be neighbours several times: in a periodic dimension of one or two ranks, or by parallel
// edges of a graph. Which of their blocks meet differs between MPIs, and between the functions of one MPI.
#pragma once

#include <mpi.h>

#include "mpi/native/members.hpp"

namespace lapwing {

enum class NeighborFunction { alltoall, alltoallv, alltoallw };

// Makes neighbors.arrivals the order of this MPI's function, blocking or not. The first such communicator has
// this rank try the function alone, as its own neighbour. Outside of Entry.
void order_as_mpi(TopologyNeighbors& neighbors, MPI_Comm communicator, NeighborFunction function,
                  bool blocking);

}  // namespace lapwing
