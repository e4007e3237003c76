/* Transforms of FFTW's MPI library as a program calls them: a cube there and back, several times. Its
 * exchanges are FFTW's own blocking collectives and messages. bench/compare/programs.py builds and runs it.
 */
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    const ptrdiff_t n = argc > 1 ? atoi(argv[1]) : 64;
    const int times = argc > 2 ? atoi(argv[2]) : 10;
    ptrdiff_t rows, first;
    const ptrdiff_t local = fftw_mpi_local_size_3d(n, n, n, MPI_COMM_WORLD, &rows, &first);
    fftw_complex* const data = fftw_alloc_complex((size_t)local);
    /* FFTW_ESTIMATE: each run must make the same plan. */
    fftw_plan there = fftw_mpi_plan_dft_3d(n, n, n, data, data, MPI_COMM_WORLD, FFTW_FORWARD,
                                           FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
    fftw_plan back = fftw_mpi_plan_dft_3d(n, n, n, data, data, MPI_COMM_WORLD, FFTW_BACKWARD,
                                          FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
    const double volume = (double)(n * n * n);
    for (ptrdiff_t i = 0; i < rows * n * n; ++i) {
        const double at = (double)(first * n * n + i);
        data[i][0] = sin(at);
        data[i][1] = cos(3 * at);
    }
    for (int time = 0; time < times; ++time) {
        fftw_execute(there);
        fftw_execute(back);
        for (ptrdiff_t i = 0; i < rows * n * n; ++i) {
            data[i][0] /= volume;
            data[i][1] /= volume;
        }
    }
    double error = 0;
    for (ptrdiff_t i = 0; i < rows * n * n; ++i) {
        const double at = (double)(first * n * n + i);
        error = fmax(error, fmax(fabs(data[i][0] - sin(at)), fabs(data[i][1] - cos(3 * at))));
    }
    double worst;
    int rank;
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("largest error %.17g\n", worst);
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    fftw_free(data);
    MPI_Finalize();
    return worst < 1e-10 ? 0 : 1;
}
