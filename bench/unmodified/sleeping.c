/* Iterations like those of CG or of an FFT, whose computation is sleep: ranks that share processors do not
 * wait for each other's work. The whole is the same on any number of ranks. For scripts/validate-predictions.
 *
 *   sleeping cg|fft ITERATIONS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { face = 64 << 10, whole = 8 << 20 };

static void compute(double seconds) {
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void cg(int rank, int ranks, int iterations, char* sent, char* received) {
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    for (int i = 0; i < iterations; ++i) {
        MPI_Request requests[4];
        double sum = 1, sums = 0;
        MPI_Irecv(received, face, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(received + face, face, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(sent, face, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(sent + face, face, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[3]);
        compute(4e-3 / ranks);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        compute(2e-3 / ranks);
        MPI_Allreduce(&sum, &sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void fft(int ranks, int iterations, char* sent, char* received) {
    const int block = whole / ranks / ranks;
    for (int i = 0; i < iterations; ++i) {
        MPI_Request request;
        MPI_Ialltoall(sent, block, MPI_CHAR, received, block, MPI_CHAR, MPI_COMM_WORLD, &request);
        compute(80e-3 / ranks);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        compute(20e-3 / ranks);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3) {
        fprintf(stderr, "usage: sleeping cg|fft ITERATIONS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char* sent = malloc(whole);
    char* received = malloc(whole);
    memset(sent, 1, whole);
    memset(received, 1, whole);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (strcmp(argv[1], "fft") == 0)
        fft(ranks, atoi(argv[2]), sent, received);
    else
        cg(rank, ranks, atoi(argv[2]), sent, received);
    if (rank == 0) printf("%.4f s\n", MPI_Wtime() - begin);
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
