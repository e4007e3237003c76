/* For `lapwing compare`: times a rank from the end of MPI_Init to the start of MPI_Finalize. These functions
 * have no handles, so one library serves every MPI. Programs reach them by C's names, or by Fortran's where
 * the MPI's Fortran library does not call C's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double began; /* 0: MPI_Init has not ended, or MPI_Finalize has begun */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Writes "seconds processor_seconds" to a file of this rank. A rank that cannot is missing in the result. */
static void end(void) {
    const char* const directory = getenv("TIMER_OF_LAPWING_COMPARE");
    if (began == 0 || directory == NULL) return;
    const double seconds = now() - began;
    began = 0; /* Fortran's function may call C's */
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-XXXXXX", directory);
    const int file = mkstemp(path);
    if (file < 0) return;
    dprintf(file, "%.9f %.9f\n", seconds, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
    close(file);
}

struct wanted {
    const char* name;
    void* found;
};

static int look_in(struct dl_phdr_info* object, size_t size, void* argument) {
    struct wanted* const wanted = argument;
    (void)size;
    if (object->dlpi_name[0] == '\0' || strstr(object->dlpi_name, "liblapwing-timer") != NULL) return 0;
    void* const library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return 0;
    wanted->found = dlsym(library, wanted->name);
    dlclose(library);
    return wanted->found != NULL;
}

/* An MPI that came with a library that the program has opened, as Python does, is not among the next ones. */
typedef void (*function)(void);
static function next(const char* name) {
    struct wanted wanted = {name, dlsym(RTLD_NEXT, name)};
    if (wanted.found == NULL) dl_iterate_phdr(look_in, &wanted);
    function found;
    memcpy(&found, &wanted.found, sizeof found);
    return found;
}

#define LAPWING_AT_INIT(name, parameters, arguments)                  \
    __attribute__((visibility("default"))) int name parameters;       \
    int name parameters {                                             \
        const int status = ((int(*) parameters)next(#name))arguments; \
        began = now();                                                \
        return status;                                                \
    }
#define LAPWING_AT_FINALIZE(name, parameters, arguments)        \
    __attribute__((visibility("default"))) int name parameters; \
    int name parameters {                                       \
        end();                                                  \
        return ((int(*) parameters)next(#name))arguments;       \
    }
LAPWING_AT_INIT(MPI_Init, (int* count, char*** words), (count, words))
LAPWING_AT_INIT(MPI_Init_thread, (int* count, char*** words, int required, int* provided),
                (count, words, required, provided))
LAPWING_AT_FINALIZE(MPI_Finalize, (void), ())
LAPWING_AT_INIT(mpi_init_, (int* error), (error))
LAPWING_AT_INIT(mpi_init_f08_, (int* error), (error))
LAPWING_AT_INIT(mpi_init_thread_, (int* required, int* provided, int* error), (required, provided, error))
LAPWING_AT_INIT(mpi_init_thread_f08_, (int* required, int* provided, int* error), (required, provided, error))
LAPWING_AT_FINALIZE(mpi_finalize_, (int* error), (error))
LAPWING_AT_FINALIZE(mpi_finalize_f08_, (int* error), (error))
