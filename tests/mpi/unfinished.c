/* Collectives that never end, because rank 1 does not call them; for debuggers. Rank 0 then sends itself
 * SIGABRT, as a program does that notices a hang, or with an argument waits. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long* sent = calloc((size_t)ranks, sizeof(long));
    long* received = calloc((size_t)ranks, sizeof(long));
    MPI_Request requests[2];
    /* One that ends, so that connections are there. */
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (rank == 0) {
        /* mark: alltoall */
        MPI_Ialltoall(sent, 1, MPI_LONG, received, 1, MPI_LONG, MPI_COMM_WORLD, &requests[0]);
        /* mark: allreduce */
        MPI_Iallreduce(MPI_IN_PLACE, received, ranks, MPI_LONG, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
        int done = 0;
        for (int i = 0; i < 100; ++i) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        puts("hangs");
        fflush(stdout);
        if (argc == 1) abort();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Recv(sent, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
