/* A library with its MPI, which a program that knows of no MPI opens, as Python opens mpi4py. */
#include <mpi.h>
#include <stddef.h>

__attribute__((visibility("default"))) int begin_and_end(void) {
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 1;
    return MPI_Finalize();
}
