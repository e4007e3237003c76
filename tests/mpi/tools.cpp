// Five rounds of: a nonblocking collective that tool.c knows, two that it does not, a persistent one, and a
// message. For programs with tool.c before or behind Lapwing. With an argument: blocking collectives only.
#include <mpi.h>

#include <cstdio>

#include "persistent_forms.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int rank = rank_in(MPI_COMM_WORLD);
    const int ranks = size_of(MPI_COMM_WORLD);
    bool right = true;
    if (argc > 1) {
        int most = 0;
        for (int round = 0; round < 3; ++round)
            MPI_Allreduce(&rank, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        right = most == ranks - 1;
        MPI_Finalize();
        if (rank == 0) std::printf("%s\n", right ? "all right" : "wrong");
        return right ? 0 : 1;
    }
    int one = 0;
    int sum = 0;
    MPI_Request persistent;
    PERSISTENT(Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
    for (int round = 0; round < 5; ++round) {
        Exchange exchange(MPI_COMM_WORLD, 10, round);
        exchange.start();
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        MPI_Request requests[2];
        int all = -1;
        MPI_Iallreduce(&round, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        one = round;
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        int message = round;
        if (rank == 0 && ranks > 1) MPI_Send(&message, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right = right && exchange.right() && all == round && sum == round * ranks && message == round;
    }
    MPI_Request_free(&persistent);
    MPI_Finalize();
    if (rank == 0) std::printf("%s\n", right ? "all right" : "wrong");
    return right ? 0 : 1;
}
