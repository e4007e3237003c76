/* Starts an alltoall, an allreduce and a barrier, checks each result, and says so. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    MPI_Init(NULL, NULL);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int* in = malloc((size_t)size * sizeof *in);
    int* out = malloc((size_t)size * sizeof *out);
    for (int i = 0; i < size; ++i) in[i] = 100 * rank + i;
    int mine = rank + 1, sum = 0;
    MPI_Request requests[3];
    MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    int wrong = sum != size * (size + 1) / 2;
    for (int i = 0; i < size; ++i) wrong += out[i] != 100 * i + rank;
    if (wrong != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) printf("right on %d ranks\n", size);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
