/* A program in C that loads a Fortran library after MPI_Init, as Python does with a module of f2py. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*exchange)(const MPI_Fint*, int*) = NULL;
    if (library != NULL) *(void**)&exchange = dlsym(library, "exchange_");
    if (exchange == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
    int errors = 0;
    exchange(&world, &errors);
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return errors == 0 ? 0 : 1;
}
