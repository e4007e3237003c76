#include "links/mpi/own_communicator.hpp"

namespace lapwing {
namespace {

MPI_Comm own_handle{};

}  // namespace

void make_own_communicator() {
    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &own_handle) != MPI_SUCCESS) own_handle = MPI_COMM_NULL;
    if (own_handle != MPI_COMM_NULL) PMPI_Comm_set_errhandler(own_handle, MPI_ERRORS_RETURN);
}

MPI_Comm own_communicator() {
    return own_handle;
}

void free_own_communicator() {
    if (own_handle != MPI_COMM_NULL) PMPI_Comm_free(&own_handle);
}

}  // namespace lapwing
