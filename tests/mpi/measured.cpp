// Blocking collectives, each often enough to be decided by LAPWING_BLOCKING=auto: on all ranks, on half of
// them, and on communicators that are freed; nonblocking ones are in flight meanwhile.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "reference.hpp"

namespace {

constexpr int calls = 40;

bool reduces(MPI_Comm communicator, int count) {
    const int rank = rank_in(communicator);
    const int ranks = size_of(communicator);
    bool right = true;
    for (int call = 0; call < calls; ++call) {
        std::vector<int> in(static_cast<std::size_t>(count), rank + call);
        std::vector<int> out(in.size());
        int in_flight = rank == 0 ? call : -1;
        MPI_Request request;
        MPI_Ibcast(&in_flight, 1, MPI_INT, 0, communicator, &request);
        MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, communicator);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        right = right && out.back() == ranks * (ranks - 1) / 2 + ranks * call && in_flight == call;
    }
    return right;
}

// Blocks of another length on each rank.
bool gathers(MPI_Comm communicator) {
    const int rank = rank_in(communicator);
    const int ranks = size_of(communicator);
    std::vector<int> counts(static_cast<std::size_t>(ranks));
    std::vector<int> begins(counts.size());
    int all = 0;
    for (int peer = 0; peer < ranks; ++peer) {
        counts[static_cast<std::size_t>(peer)] = peer;
        begins[static_cast<std::size_t>(peer)] = all;
        all += peer;
    }
    bool right = true;
    for (int call = 0; call < calls; ++call) {
        const int root = call % ranks;
        std::vector<int> in(static_cast<std::size_t>(rank) + 1, rank + call);
        std::vector<int> out(static_cast<std::size_t>(all) + 1);
        MPI_Gatherv(in.data(), rank, MPI_INT, out.data(), counts.data(), begins.data(), MPI_INT, root,
                    communicator);
        for (int peer = 1; rank == root && peer < ranks; ++peer)
            right =
                right && out[static_cast<std::size_t>(begins[static_cast<std::size_t>(peer)])] == peer + call;
    }
    return right;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD) % 2, 0, &half);
    bool right = true;
    for (const int count : {1, 3, 5000})
        right = reduces(MPI_COMM_WORLD, count) && reduces(half, count) && right;
    right = gathers(MPI_COMM_WORLD) && right;
    for (int times = 0; times < 3; ++times) {
        MPI_Comm again;
        MPI_Comm_dup(half, &again);
        right = reduces(again, 1) && right;
        MPI_Comm_free(&again);
    }
    MPI_Comm_free(&half);
    if (!right) std::printf("wrong\n");
    if (rank_in(MPI_COMM_WORLD) == 0 && right) std::printf("all right\n");
    MPI_Finalize();
    return right ? 0 : 1;
}
