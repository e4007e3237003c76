// The names of the persistent collectives: in Open MPI 4 they are an extension.
#pragma once

#include <mpi.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(collective) MPIX_##collective##_init
#else
#define PERSISTENT(collective) MPI_##collective##_init
#endif
