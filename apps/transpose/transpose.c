/* Transposes matrices that are spread over the ranks by rows, one after the other: while the blocks of one
 * travel, the rows of the next are computed (the pattern of parallel Fourier transforms; Kandalla et al.
 * 2011, P3DFFT, section V). Plain MPI-3: it knows nothing of Lapwing.
 *
 *   transpose [N] [MATRICES]      N x N doubles each; N is a multiple of the number of ranks
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, n, rows;

static double element(int matrix, int row, int column) {
    return matrix + row * 1e-3 + sin(column * 0.01);
}

/* This rank's rows, block by block: the block for rank d holds the columns that d will own as rows. */
static void compute(int matrix, double* blocks) {
    for (int d = 0; d < ranks; ++d) {
        for (int row = 0; row < rows; ++row) {
            for (int column = 0; column < rows; ++column) {
                blocks[(d * rows + row) * rows + column] =
                    element(matrix, rank * rows + row, d * rows + column);
            }
        }
    }
}

/* How many elements of the transposed matrix are wrong. */
static int errors_in(int matrix, const double* blocks) {
    int errors = 0;
    for (int s = 0; s < ranks; ++s) {
        for (int row = 0; row < rows; ++row) {
            for (int column = 0; column < rows; ++column) {
                errors += blocks[(s * rows + row) * rows + column] !=
                          element(matrix, s * rows + row, rank * rows + column);
            }
        }
    }
    return errors;
}

static double* allocate(void) {
    double* memory = malloc(sizeof(double) * (size_t)rows * (size_t)n);
    if (memory == NULL) {
        fprintf(stderr, "transpose: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* Rank 0 reads the command line and tells the others. */
    int sizes[2] = {0, 0};
    if (rank == 0) {
        sizes[0] = argc > 1 ? atoi(argv[1]) : 512;
        sizes[1] = argc > 2 ? atoi(argv[2]) : 20;
    }
    MPI_Request request;
    MPI_Ibcast(sizes, 2, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    n = sizes[0];
    const int matrices = sizes[1];
    rows = n / ranks;
    if (n <= 0 || matrices <= 0 || n % ranks != 0) {
        if (rank == 0) fprintf(stderr, "transpose: N = %d is no multiple of %d ranks\n", n, ranks);
        MPI_Finalize();
        return 2;
    }

    double* sent[2] = {allocate(), allocate()};
    double* received[2] = {allocate(), allocate()};
    const int block = rows * rows;
    int errors = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double begin = MPI_Wtime();
    compute(0, sent[0]);
    MPI_Ialltoall(sent[0], block, MPI_DOUBLE, received[0], block, MPI_DOUBLE, MPI_COMM_WORLD, &request);
    for (int matrix = 1; matrix <= matrices; ++matrix) {
        if (matrix < matrices) compute(matrix, sent[matrix % 2]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (matrix < matrices) {
            MPI_Ialltoall(sent[matrix % 2], block, MPI_DOUBLE, received[matrix % 2], block, MPI_DOUBLE,
                          MPI_COMM_WORLD, &request);
        }
        errors += errors_in(matrix - 1, received[(matrix - 1) % 2]);
    }
    const double seconds = MPI_Wtime() - begin;

    int* all = malloc(sizeof(int) * (size_t)ranks);
    MPI_Igather(&errors, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) {
        errors = 0;
        for (int r = 0; r < ranks; ++r) errors += all[r];
        printf("%d matrices of %d x %d transposed on %d ranks in %.3f s, %d errors\n", matrices, n, n, ranks,
               seconds, errors);
    }
    MPI_Bcast(&errors, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(all);
    for (int i = 0; i < 2; ++i) {
        free(sent[i]);
        free(received[i]);
    }
    MPI_Finalize();
    return errors != 0;
}
