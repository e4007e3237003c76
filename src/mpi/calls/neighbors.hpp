// The neighbours of a rank in the topology of its communicator, in the order of the blocks in the program's
// buffers.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace lapwing {

struct TopologyNeighbors {
    std::vector<int> sources;       // ranks, or MPI_PROC_NULL
    std::vector<int> destinations;  // the same
    // The order in which the blocks of a source that occurs several times arrive, as places in `sources`. On
    // a grid what is sent downwards in a dimension arrives from above there, also where both neighbours are
    // the same rank.
    std::vector<std::size_t> arrivals;
};

// MPI_SUCCESS, or the MPI's error when the communicator has no topology.
int find_neighbors(MPI_Comm communicator, TopologyNeighbors& neighbors);

}  // namespace lapwing
