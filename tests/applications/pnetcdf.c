// Writes one variable by a collective and one by a nonblocking call of PnetCDF, and reads both again with
// another partition.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

enum { EACH = 5000 };

static int must(int error, const char* call) {
    if (error != NC_NOERR) {
        printf("%s: %s\n", call, ncmpi_strerror(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return error;
}
#define MUST(call) must(call, #call)

int main(int argc, char** argv) {
    int rank, size, file, axis, variable[2], request[2], status[2], wrong = 0;
    double written[EACH], read[2][EACH];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Offset start = (MPI_Offset)rank * EACH, count = EACH, stride = size;
    MUST(ncmpi_create(MPI_COMM_WORLD, "result.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    MUST(ncmpi_def_dim(file, "place", (MPI_Offset)size * EACH, &axis));
    MUST(ncmpi_def_var(file, "blocks", NC_DOUBLE, 1, &axis, &variable[0]));
    MUST(ncmpi_def_var(file, "cyclic", NC_DOUBLE, 1, &axis, &variable[1]));
    MUST(ncmpi_enddef(file));
    for (int i = 0; i < EACH; ++i) written[i] = start + i + 0.25;
    MUST(ncmpi_put_vara_double_all(file, variable[0], &start, &count, written));
    start = rank;
    for (int i = 0; i < EACH; ++i) written[i] = rank + (double)i * size + 0.25;
    MUST(ncmpi_iput_vars_double(file, variable[1], &start, &count, &stride, written, request));
    MUST(ncmpi_wait_all(file, 1, request, status));
    MUST(status[0]);
    MUST(ncmpi_close(file));

    // Both variables hold the place of each element: what one partition has written, the other one reads.
    MUST(ncmpi_open(MPI_COMM_WORLD, "result.nc", NC_NOWRITE, MPI_INFO_NULL, &file));
    for (int which = 0; which < 2; ++which) {
        MUST(ncmpi_iget_vars_double(file, variable[which], &start, &count, &stride, read[which],
                                    &request[which]));
    }
    MUST(ncmpi_wait_all(file, 2, request, status));
    for (int i = 0; i < EACH; ++i) wrong += (read[0][i] != written[i]) + (read[1][i] != written[i]);
    MUST(ncmpi_close(file));
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("wrong elements: %d\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
