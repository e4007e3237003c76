/* Programs that hang, each in its own way: hangs MODE GUILTY. The guilty rank is that which the report must
 * name. With "slow" it only computes for three seconds, with "operator" it reduces by another operator, with
 * "alone" it starts a collective that no other rank calls, and all ranks end. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double numbers[64], sums[64];

static void complete(MPI_Request* request) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void barrier(MPI_Comm communicator) {
    MPI_Request request;
    MPI_Ibarrier(communicator, &request);
    complete(&request);
}

static void reduce(void) {
    MPI_Request request;
    MPI_Iallreduce(numbers, sums, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    complete(&request);
}

int main(int argc, char** argv) {
    const char* const mode = argc > 1 ? argv[1] : "";
    const int guilty = argc > 2 ? atoi(argv[2]) : 0;
    int rank, ranks;
    MPI_Comm other;
    volatile int forever = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    barrier(MPI_COMM_WORLD);
    reduce();
    const int mine = rank == guilty;
    if (strcmp(mode, "missing") == 0) { /* it is in another call for ever */
        if (mine) MPI_Recv(numbers, 1, MPI_DOUBLE, (rank + 1) % ranks, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        barrier(MPI_COMM_WORLD);
    } else if (strcmp(mode, "order") == 0) { /* it swaps two collectives, which the native MPI runs */
        if (mine) MPI_Allreduce(numbers, sums, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (!mine) MPI_Allreduce(numbers, sums, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(mode, "counts") == 0) { /* it sends nothing where the others expect a number */
        int counts[64] = {0}, ones[64], offsets[64];
        MPI_Request request;
        for (int i = 0; i < 64; ++i) ones[i] = 1, offsets[i] = i;
        counts[rank] = 1;
        MPI_Ialltoallv(numbers, mine ? counts : ones, offsets, MPI_DOUBLE, sums, ones, offsets, MPI_DOUBLE,
                       MPI_COMM_WORLD, &request);
        complete(&request);
    } else if (strcmp(mode, "loop") == 0) {
        if (mine)
            while (forever) continue;
        reduce();
    } else if (strcmp(mode, "sleep") == 0) {
        if (mine) sleep(3600);
        reduce();
    } else if (strcmp(mode, "stopped") == 0) {
        if (mine) raise(SIGSTOP);
        reduce();
    } else if (strcmp(mode, "receive") == 0) { /* the others wait for a message that it does not send */
        if (mine)
            pause();
        else
            MPI_Recv(numbers, 1, MPI_DOUBLE, guilty, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(mode, "testing") == 0) {
        MPI_Request request;
        int complete_now = 0;
        if (mine) pause();
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        while (!complete_now) MPI_Test(&request, &complete_now, MPI_STATUS_IGNORE);
    } else if (strcmp(mode, "operator") == 0) {
        MPI_Request request;
        MPI_Iallreduce(numbers, sums, 64, MPI_DOUBLE, mine ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD, &request);
        complete(&request);
    } else if (strcmp(mode, "alone") == 0) { /* the first collective of `other`, which no other rank calls */
        MPI_Request request;
        if (mine) MPI_Iallreduce(numbers, sums, 64, MPI_DOUBLE, MPI_SUM, other, &request);
    } else if (strcmp(mode, "slow") == 0) {
        if (mine) sleep(3);
        reduce();
    }
    if (strcmp(mode, "alone") != 0) MPI_Comm_free(&other);
    MPI_Finalize();
    if (rank == 0) printf("all done\n");
    return 0;
}
