/* What the sources of the library share. */
#ifndef LAPWING_NBC_COMMON_H
#define LAPWING_NBC_COMMON_H

#include <stdlib.h>

#include "mpi/nbc/nbc.h"

#undef NBC_Test
#undef NBC_Wait

/* The functions are defined as PNBC_; NBC_ is the same unless a tool defines it. */
#define NBC_ALIAS(name) extern __typeof__(PNBC_##name) NBC_##name __attribute__((weak, alias("PNBC_" #name)))

/* To LibNBC equal buffers mean in place, too. Without a buffer there is nothing to be in place. */
static inline int in_place(const void* sent, const void* received) {
    return sent == MPI_IN_PLACE || (sent == received && sent != NULL);
}

/* The request must say null before the call, because an error may leave it as it was. */
static inline void begin(NBC_Handle* handle) {
    handle->request = MPI_REQUEST_NULL;
    handle->copy = NULL;
}

/* What the handle keeps until its collective is complete. */
static inline void end(NBC_Handle* handle) {
    free(handle->copy);
    handle->copy = NULL;
}

/* The end of a call that may have made such a copy. */
static inline int begun(NBC_Handle* handle, int error) {
    if (error != MPI_SUCCESS) end(handle);
    return error;
}

#endif
