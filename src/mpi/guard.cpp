#include "mpi/guard.hpp"

#include <fmt/format.h>

#include <new>

namespace lapwing {

int handle_exception() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM), MPI_ERR_NO_MEM;
    } catch (const std::exception& exception) {
        int rank = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        fmt::print(stderr, "lapwing: rank {}: {}\n", rank, exception.what());
    }
    PMPI_Abort(MPI_COMM_WORLD, 1);
    return MPI_ERR_INTERN;
}

}  // namespace lapwing
