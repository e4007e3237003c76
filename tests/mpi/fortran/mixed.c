/* The part of f90.f90 that is C. */
#include <mpi.h>

void start_in_c(MPI_Fint comm, const int* sent, int* received, MPI_Fint* request);
void wait_in_c(MPI_Fint* request);

void start_in_c(MPI_Fint comm, const int* sent, int* received, MPI_Fint* request) {
    MPI_Request started;
    MPI_Ialltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_Comm_f2c(comm), &started);
    *request = MPI_Request_c2f(started);
}

void wait_in_c(MPI_Fint* request) {
    MPI_Request started = MPI_Request_f2c(*request);
    MPI_Wait(&started, MPI_STATUS_IGNORE);
    *request = MPI_Request_c2f(started);
}
