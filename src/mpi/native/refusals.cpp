#include "mpi/native/refusals.hpp"

#include "links/mpi/own_communicator.hpp"

namespace lapwing {
namespace {

#ifdef OPEN_MPI
constexpr bool open_mpi = true;
#else
constexpr bool open_mpi = false;
#endif

// MPICH can be configured not to check arguments.
bool checks_aliases() {
    static const bool checks = [] {
        int both = 0;
        return PMPI_Allreduce(&both, &both, 1, MPI_INT, MPI_SUM, own_communicator()) != MPI_SUCCESS;
    }();
    return checks;
}

}  // namespace

bool is_uncommitted(MPI_Datatype type) {
    char nothing = 0;
    return PMPI_Recv(&nothing, 1, type, MPI_PROC_NULL, 0, own_communicator(), MPI_STATUS_IGNORE) !=
           MPI_SUCCESS;
}

bool is_unfit(MPI_Op op, MPI_Datatype type) {
    char operand = 0;
    char result = 0;
    return PMPI_Allreduce(&operand, &result, 0, type, op, own_communicator()) != MPI_SUCCESS;
}

bool is_no_buffer(const void* buffer, bool has_elements, MPI_Datatype type) {
    if (buffer == MPI_IN_PLACE) return open_mpi || has_elements;
    if (open_mpi || buffer != nullptr || !has_elements) return false;
    // From MPI_BOTTOM, elements have absolute addresses.
    MPI_Count size = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS && size > 0 &&
           PMPI_Type_get_true_extent(type, &lower, &extent) == MPI_SUCCESS && lower == 0;
}

bool is_aliased(Collective collective, const void* sent, const void* received, std::uint64_t count) {
    if (sent != received || sent == nullptr) return false;
    if (!open_mpi) return count > 0 && checks_aliases();
    return (collective == Collective::reduce && count > 0) ||
           (collective == Collective::allreduce && count > 1);
}

bool is_aliased(const void* sent, const void* received) {
    return !open_mpi && sent == received && sent != nullptr && checks_aliases();
}

int answer_for_collective(int (*call)(MPI_Request*)) {
    MPI_Request other = MPI_REQUEST_NULL;
    PMPI_Ibarrier(own_communicator(), &other);
    const int error = call(&other);
    if (other != MPI_REQUEST_NULL) PMPI_Wait(&other, MPI_STATUS_IGNORE);
    return error;
}

}  // namespace lapwing
