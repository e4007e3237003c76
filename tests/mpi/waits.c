/* Collectives and messages whose waits are known, for `lapwing profile`: plain MPI. The test finds the lines
 * by their marks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "persistent_forms.hpp"

enum { rounds = 5, pause_microseconds = 20000, block = 4096 };

static int rank, ranks;
static char *sent, *received;

__attribute__((noinline)) void computes_before_it_waits(void) {
    MPI_Request request;
    /* mark: computes */
    MPI_Ialltoall(sent, block, MPI_CHAR, received, block, MPI_CHAR, MPI_COMM_WORLD, &request);
    usleep(pause_microseconds);
    /* mark: computes waits */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) void waits_at_once(MPI_Comm communicator) {
    MPI_Request request;
    /* mark: at once */
    MPI_Iallreduce(sent, received, block, MPI_CHAR, MPI_MAX, communicator, &request);
    int done = 0;
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) void comes_late(void) {
    if (rank == 0) usleep(pause_microseconds);
    /* mark: late */
    MPI_Barrier(MPI_COMM_WORLD);
}

__attribute__((noinline)) void blocks(void) {
    /* mark: blocks */
    MPI_Allgather(sent, block, MPI_CHAR, received, block, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Bcast(sent, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
}

__attribute__((noinline)) void starts_again(MPI_Request* persistent) {
    /* mark: starts */
    MPI_Start(persistent);
    usleep(pause_microseconds);
    /* mark: starts waits */
    MPI_Wait(persistent, MPI_STATUS_IGNORE);
}

// Computes nothing between the starts and the wait, in which the other ranks wait for rank 0.
__attribute__((noinline)) void waits_for_both(void) {
    if (rank == 0) usleep(pause_microseconds);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    /* mark: first of both */
    MPI_Iallgather(sent, block, MPI_CHAR, received, block, MPI_CHAR, MPI_COMM_WORLD, &requests[0]);
    /* mark: second of both */
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
}

// The other group waits for rank 0.
__attribute__((noinline)) void comes_late_for_the_others(MPI_Comm between) {
    if (rank == 0) usleep(pause_microseconds);
    /* mark: between groups */
    MPI_Alltoall(sent, block / 2, MPI_CHAR, received, block / 2, MPI_CHAR, between);
}

// Rank 0 sends late, and its neighbor waits for it.
__attribute__((noinline)) void passes_on(void) {
    MPI_Request request;
    /* mark: receives */
    MPI_Irecv(received, block, MPI_CHAR, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &request);
    if (rank == 0) usleep(pause_microseconds);
    /* mark: sends */
    MPI_Send(sent, block, MPI_CHAR, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    /* mark: receives waits */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    sent = calloc((size_t)ranks, block);
    received = calloc((size_t)ranks, block);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm between;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &between);
    MPI_Request persistent;
    PERSISTENT(Scan)(sent, received, block, MPI_CHAR, MPI_MAX, half, MPI_INFO_NULL, &persistent);
    for (int i = 0; i < rounds; ++i) {
        for (int r = 0; r < ranks; ++r) sent[r * block] = (char)(rank + i);
        computes_before_it_waits();
        for (int r = 0; r < ranks; ++r) {
            if (received[r * block] != (char)(r + i)) {
                fprintf(stderr, "wrong\n");
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        waits_at_once(half);
        comes_late();
        blocks();
        starts_again(&persistent);
        waits_for_both();
        passes_on();
        comes_late_for_the_others(between);
    }
    MPI_Request_free(&persistent);
    if (rank == 0) printf("all done\n");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
