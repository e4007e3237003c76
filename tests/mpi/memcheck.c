// Branches on results of collectives, which memcheck must not report, and on one value that no one has set,
// which memcheck must report.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int positive(const double* values, int count, int stride) {
    int found = 0;
    for (int i = 0; i < count; ++i)
        if (values[i * stride] > 0) ++found;
    return found;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long found = 0;
    for (int count = 1; count < 40000; count *= 30) {
        const size_t bytes = sizeof(double) * (size_t)count;
        double* in = malloc(bytes);
        double* out = malloc(bytes * (size_t)ranks);
        for (int i = 0; i < count; ++i) in[i] = i + rank;
        MPI_Request request;
        MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        found += positive(out, count, 1);
        free(out);
        out = malloc(bytes * (size_t)ranks);
        MPI_Iallgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        found += positive(out, count * ranks, 1);
        free(out);

        MPI_Datatype every_second;
        MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &every_second);
        MPI_Type_commit(&every_second);
        double* holes = malloc(2 * bytes);
        for (int i = 0; rank == 0 && i < count; ++i) holes[2 * i] = i;
        MPI_Ibcast(holes, 1, every_second, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        found += positive(holes, count, 2);
        MPI_Type_free(&every_second);
        free(holes);
        free(in);
    }
    if (found == 0) printf("no value is positive\n");
    double* volatile unset = malloc(sizeof(double));
    if (*unset > 1) printf("the value that is not set is large\n");
    free(unset);
    MPI_Finalize();
    return 0;
}
