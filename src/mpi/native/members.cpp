#include "mpi/native/members.hpp"

#include <algorithm>
#include <numeric>

namespace lapwing {
namespace {

std::size_t as_size(int number) {
    return static_cast<std::size_t>(number);
}

int on_grid(MPI_Comm communicator, TopologyNeighbors& neighbors) {
    int dimensions = 0;
    int error = PMPI_Cartdim_get(communicator, &dimensions);
    for (int dimension = 0; error == MPI_SUCCESS && dimension < dimensions; ++dimension) {
        int below = MPI_PROC_NULL;
        int above = MPI_PROC_NULL;
        error = PMPI_Cart_shift(communicator, dimension, 1, &below, &above);
        for (const int rank : {below, above}) neighbors.sources.push_back(rank);
    }
    neighbors.destinations = neighbors.sources;
    return error;
}

int on_graph(MPI_Comm communicator, TopologyNeighbors& neighbors) {
    const int rank = rank_in(communicator);
    int count = 0;
    int error = PMPI_Graph_neighbors_count(communicator, rank, &count);
    if (error != MPI_SUCCESS) return error;
    neighbors.sources.resize(as_size(count));
    error = PMPI_Graph_neighbors(communicator, rank, count, neighbors.sources.data());
    neighbors.destinations = neighbors.sources;
    return error;
}

int on_distributed_graph(MPI_Comm communicator, TopologyNeighbors& neighbors) {
    int sources = 0;
    int destinations = 0;
    int weighted = 0;
    int error = PMPI_Dist_graph_neighbors_count(communicator, &sources, &destinations, &weighted);
    if (error != MPI_SUCCESS) return error;
    neighbors.sources.resize(as_size(sources));
    neighbors.destinations.resize(as_size(destinations));
    std::vector<int> source_weights(as_size(sources) + 1);
    std::vector<int> destination_weights(as_size(destinations) + 1);
    return PMPI_Dist_graph_neighbors(communicator, sources, neighbors.sources.data(), source_weights.data(),
                                     destinations, neighbors.destinations.data(), destination_weights.data());
}

// Frees the group.
std::vector<int> ranks_in_world(MPI_Group group) {
    MPI_Group world = MPI_GROUP_NULL;
    int size = 0;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &size);
    std::vector<int> own(as_size(size));
    std::iota(own.begin(), own.end(), 0);
    std::vector<int> ranks(own.size());
    PMPI_Group_translate_ranks(group, size, own.data(), world, ranks.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    std::ranges::replace(ranks, MPI_UNDEFINED, -1);
    return ranks;
}

}  // namespace

std::vector<int> members_in_world(MPI_Comm communicator) {
    MPI_Group group = MPI_GROUP_NULL;
    PMPI_Comm_group(communicator, &group);
    std::vector<int> members = ranks_in_world(group);
    // MPICH 5.0: the group of a graph with fewer nodes than ranks has all ranks, its nodes first.
    members.resize(as_size(ranks_in(communicator)));
    return members;
}

std::vector<int> remote_members_in_world(MPI_Comm communicator) {
    MPI_Group group = MPI_GROUP_NULL;
    PMPI_Comm_remote_group(communicator, &group);
    return ranks_in_world(group);
}

std::vector<int> members_within_world(MPI_Comm communicator) {
    std::vector<int> members = members_in_world(communicator);
    if (std::ranges::find(members, -1) != members.end()) members.clear();
    return members;
}

int find_neighbors(MPI_Comm communicator, TopologyNeighbors& neighbors) {
    neighbors = {};
    int topology = MPI_UNDEFINED;
    if (const int error = PMPI_Topo_test(communicator, &topology); error != MPI_SUCCESS) return error;
    if (topology == MPI_CART) return on_grid(communicator, neighbors);
    if (topology == MPI_GRAPH) return on_graph(communicator, neighbors);
    if (topology == MPI_DIST_GRAPH) return on_distributed_graph(communicator, neighbors);
    return MPI_ERR_TOPOLOGY;
}

}  // namespace lapwing
