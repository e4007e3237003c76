// Prints what each collective of neighbours gives, in each form, where ranks are neighbours several times: on
// periodic grids of 1 to 3 ranks in a dimension, and on graphs with parallel edges. For four ranks.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "reference.hpp"

namespace {

std::string place;

void print(const char* function, const std::vector<int>& received, MPI_Comm comm) {
    const auto count = static_cast<int>(received.size());
    std::vector<int> all(received.size() * static_cast<std::size_t>(size_of(comm)));
    MPI_Gather(received.data(), count, MPI_INT, all.data(), count, MPI_INT, 0, comm);
    std::string line = place + " " + function + ":";
    for (const int block : all) line += " " + std::to_string(block);
    if (rank_in(comm) == 0) std::printf("%s\n", line.c_str());
}

// Persistent collectives are an extension in Open MPI 4; it lacks those of MPI-4, and Open MPI 5 those of the
// extension.
template <typename... Arguments>
bool make_persistent(const std::string& name, Arguments... arguments) {
    for (const char* prefix : {"MPI_", "MPIX_"}) {
        void* const found = dlsym(RTLD_DEFAULT, (prefix + name + "_init").c_str());
        if (found != nullptr)
            return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...) == MPI_SUCCESS;
    }
    return false;
}

void try_all(MPI_Comm comm, int neighbors) {
    const auto all = static_cast<std::size_t>(neighbors);
    std::vector<int> sent(all);
    const std::vector<int> ones(all, 1);
    std::vector<int> at(all);
    std::vector<MPI_Aint> bytes(all);
    const std::vector<MPI_Datatype> types(all, MPI_INT);
    for (std::size_t i = 0; i < all; ++i) {
        sent[i] = 100 * rank_in(comm) + static_cast<int>(i);
        at[i] = static_cast<int>(i);
        bytes[i] = static_cast<MPI_Aint>(i * sizeof(int));
    }
    std::vector<int> received(all, -1);
    MPI_Request request = MPI_REQUEST_NULL;
#define TRY(Name, name, ...)                                                 \
    received.assign(all, -1);                                                \
    MPI_Neighbor_##name(__VA_ARGS__, comm);                                  \
    print("Neighbor_" #name, received, comm);                                \
    received.assign(all, -1);                                                \
    MPI_Ineighbor_##name(__VA_ARGS__, comm, &request);                       \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                   \
    print("Ineighbor_" #name, received, comm);                               \
    if (make_persistent(Name, __VA_ARGS__, comm, MPI_INFO_NULL, &request)) { \
        received.assign(all, -1);                                            \
        MPI_Start(&request);                                                 \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                               \
        print(Name, received, comm);                                         \
        MPI_Request_free(&request);                                          \
    }
    const void* const from = sent.data();
    void* const to = received.data();
    const int* const counts = ones.data();
    const int* const places = at.data();
    const MPI_Aint* const offsets = bytes.data();
    const MPI_Datatype* const of = types.data();
    const MPI_Datatype type = MPI_INT;
    TRY("Neighbor_allgather", allgather, from, 1, type, to, 1, type)
    TRY("Neighbor_allgatherv", allgatherv, from, 1, type, to, counts, places, type)
    TRY("Neighbor_alltoall", alltoall, from, 1, type, to, 1, type)
    TRY("Neighbor_alltoallv", alltoallv, from, counts, places, type, to, counts, places, type)
    TRY("Neighbor_alltoallw", alltoallw, from, counts, offsets, of, to, counts, offsets, of)
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int rank = rank_in(MPI_COMM_WORLD);
    const int ranks = size_of(MPI_COMM_WORLD);
    // Each digit is the ranks of a dimension.
    for (const std::string grid_of :
         {"1", "2", "3", "11", "12", "21", "22", "13", "31", "111", "122", "211"}) {
        std::vector<int> sizes;
        for (const char digit : grid_of) sizes.push_back(digit - '0');
        int members = 1;
        place = "grid";
        for (const int size : sizes) {
            members *= size;
            place += " " + std::to_string(size);
        }
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, 0, &part);
        if (part == MPI_COMM_NULL) continue;
        const auto dimensions = static_cast<int>(sizes.size());
        const std::vector<int> periods(sizes.size(), 1);
        MPI_Comm grid = MPI_COMM_NULL;
        MPI_Cart_create(part, dimensions, sizes.data(), periods.data(), 0, &grid);
        try_all(grid, 2 * dimensions);
        MPI_Comm_free(&grid);
        MPI_Comm_free(&part);
    }
    const int above = (rank + 1) % ranks;
    const int below = (rank + ranks - 1) % ranks;
    const int to[4] = {above, above, rank, above};
    const int from[4] = {rank, below, below, below};
    const int weights[4] = {1, 1, 1, 1};
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, from, weights, 4, to, weights, MPI_INFO_NULL, 0,
                                   &graph);
    place = "distributed graph";
    try_all(graph, 4);
    MPI_Comm_free(&graph);
    std::vector<int> ends;
    std::vector<int> edges;
    for (int i = 0; i < ranks; ++i) {
        for (const int step : {1, 1, ranks - 1, ranks - 1}) edges.push_back((i + step) % ranks);
        ends.push_back(static_cast<int>(edges.size()));
    }
    MPI_Graph_create(MPI_COMM_WORLD, ranks, ends.data(), edges.data(), 0, &graph);
    place = "graph";
    try_all(graph, 4);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
