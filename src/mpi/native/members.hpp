// The members of communicators, and the neighbours of a rank in the topology of its communicator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace lapwing {

inline int rank_in(MPI_Comm communicator) {
    int rank = 0;
    PMPI_Comm_rank(communicator, &rank);
    return rank;
}
inline int ranks_in(MPI_Comm communicator) {
    int ranks = 0;
    PMPI_Comm_size(communicator, &ranks);
    return ranks;
}

// The ranks in MPI_COMM_WORLD of the members of a communicator, and of those of its remote group; -1: a
// process of another world.
std::vector<int> members_in_world(MPI_Comm communicator);
std::vector<int> remote_members_in_world(MPI_Comm communicator);
// The same as the first; empty if a member is of another world.
std::vector<int> members_within_world(MPI_Comm communicator);

// In the order of the blocks in the program's buffers.
struct TopologyNeighbors {
    std::vector<int> sources;       // ranks, or MPI_PROC_NULL
    std::vector<int> destinations;  // the same
};

// MPI_SUCCESS, or the MPI's error when the communicator has no topology.
int find_neighbors(MPI_Comm communicator, TopologyNeighbors& neighbors);

}  // namespace lapwing
