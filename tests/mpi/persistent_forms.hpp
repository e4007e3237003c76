// The names of the persistent collectives: in Open MPI 4 they are an extension.
#pragma once

#include <mpi.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define PERSISTENT(collective) MPIX_##collective##_init
#else
#define PERSISTENT(collective) MPI_##collective##_init
#endif
