/* Calls of every kind that `lapwing profile --record` records, in a known order. Plain MPI; the test has the
 * sequence. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { steps = 12, length = 1000 };

static int rank, ranks, left, right;
static double sent[2 * length], received[2 * length];

static void messages(MPI_Comm ring) {
    MPI_Request requests[2];
    int done = 0, index = 0, flag = 0;
    for (int step = 0; step < steps; ++step) {
        MPI_Irecv(received, length, MPI_DOUBLE, left, 7, ring, &requests[0]);
        MPI_Isend(sent, length, MPI_DOUBLE, right, 7, ring, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Sendrecv(sent, 1, MPI_INT, right, 1, received, 2, MPI_INT, left, 1, ring, MPI_STATUS_IGNORE);
    /* In either order. */
    MPI_Irecv(received, 1, MPI_INT, left, 2, ring, &requests[0]);
    MPI_Issend(sent, 1, MPI_INT, right, 2, ring, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    /* Persistent; each start is tested until it is complete. */
    MPI_Recv_init(received, 3, MPI_CHAR, MPI_ANY_SOURCE, 3, ring, &requests[0]);
    MPI_Send_init(sent, 3, MPI_CHAR, right, 3, ring, &requests[1]);
    for (int step = 0; step < 2; ++step) {
        MPI_Startall(2, requests);
        do MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        while (!done);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Bsend(sent, 1, MPI_CHAR, right, 4, ring);
    do MPI_Iprobe(left, 4, ring, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Recv(received, 10, MPI_CHAR, left, 4, ring, MPI_STATUS_IGNORE);
    MPI_Send(sent, 0, MPI_CHAR, MPI_PROC_NULL, 5, ring);
}

static void collectives(MPI_Comm ring) {
    int* counts = calloc(2 * (size_t)ranks, sizeof *counts);
    int* offsets = counts + ranks;
    for (int i = 0; i < ranks; ++i) {
        counts[i] = i + 1;
        offsets[i] = i * (i + 1) / 2;
    }
    int own[4] = {rank + 1, rank + 1, rank + 1, rank + 1};
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(sent, 100, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, received, 10, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Gatherv(sent, rank + 1, MPI_INT, received, counts, offsets, MPI_INT, 0, MPI_COMM_WORLD);
    int* same = malloc((size_t)ranks * sizeof *same);
    for (int i = 0; i < ranks; ++i) same[i] = own[0] * i;
    for (int i = 0; i < ranks; ++i) counts[i] = own[0];
    MPI_Alltoallv(sent, counts, same, MPI_INT, received, counts, same, MPI_INT, MPI_COMM_SELF);
    MPI_Ialltoall(sent, 2, MPI_DOUBLE, received, 2, MPI_DOUBLE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoall(sent, 5, MPI_CHAR, received, 5, MPI_CHAR, ring);
    MPI_Reduce_scatter_block(sent, received, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    free(same);
    free(counts);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    static char attached[4096];
    int size = 0, periodic = 1;
    void* detached = NULL;
    MPI_Buffer_attach(attached, sizeof attached);
    MPI_Comm ring, copy;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    MPI_Comm_dup(ring, &copy);
    messages(ring);
    collectives(ring);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&ring);
    MPI_Buffer_detach(&detached, &size);
    if (argc > 1 && strcmp(argv[1], "killed") == 0 && rank == 1) abort();
    MPI_Finalize();
    if (rank == 0) printf("all done\n");
    return 0;
}
