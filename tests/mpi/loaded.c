// A program that opens its MPI at run time, as Python's ctypes does, and looks up all functions by that
// handle. loaded LIBRARY HAS_BARRIER_INIT MODE... : the modes of dlopen() are 0 (RTLD_LOCAL), deepbind and
// global.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* library;

static void* find(const char* name) {
    dlerror();
    void* found = dlsym(library, name);
    const char* error = dlerror();
    if (error != NULL) {
        fprintf(stderr, "no %s: %s\n", name, error);
        exit(1);
    }
    return found;
}

int main(int count, char** words) {
    const int mode = strcmp(words[3], "deepbind") == 0 ? RTLD_DEEPBIND
                     : strcmp(words[3], "global") == 0 ? RTLD_GLOBAL
                                                       : 0;
    library = dlopen(words[1], RTLD_NOW | mode);
    if (count != 4 || library == NULL) return 2;
    const int open_mpi = dlsym(library, "ompi_mpi_comm_world") != NULL;
    void* world = open_mpi ? find("ompi_mpi_comm_world") : (void*)0x44000000;
    void* type = open_mpi ? find("ompi_mpi_int") : (void*)0x4c000405;
    void* sum = open_mpi ? find("ompi_mpi_op_sum") : (void*)0x58000003;
    int rank, ranks, mine, all = -1;
    char status[64];
    void* request = NULL;
    ((int (*)(void*, void*))find("MPI_Init"))(NULL, NULL);
    ((int (*)(void*, void*))find("MPI_Comm_rank"))(world, &rank);
    ((int (*)(void*, void*))find("MPI_Comm_size"))(world, &ranks);
    mine = rank + 1;
    ((int (*)(void*, void*, int, void*, void*, void*, void*))find("MPI_Iallreduce"))(&mine, &all, 1, type,
                                                                                     sum, world, &request);
    ((int (*)(void*, void*))find("MPI_Wait"))(&request, status);
    // What the MPI lacks is not found, and other uses of dlsym() are as ever: the preload library is next to
    // the program.
    const int right = all == ranks * (ranks + 1) / 2 &&
                      (dlsym(library, "MPI_Barrier_init") != NULL) == atoi(words[2]) &&
                      dlsym(library, "MPI_nothing") == NULL && dlsym(RTLD_NEXT, "lapwing_snapshot") != NULL &&
                      dlsym(RTLD_DEFAULT, "MPI_Iallreduce") != NULL;
    ((int (*)(void))find("MPI_Finalize"))();
    if (!right) fprintf(stderr, "rank %d: the sum is %d\n", rank, all);
    return right ? 0 : 1;
}
