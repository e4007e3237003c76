#include "links/mpi/own_communicator.hpp"

#include <atomic>
#include <mutex>

namespace lapwing {
namespace {

std::mutex own_mutex;
MPI_Comm own_handle{};  // MPI_COMM_NULL may not be loaded yet
std::atomic<bool> is_made{false};

}  // namespace

MPI_Comm own_communicator() {
    if (is_made.load(std::memory_order_acquire)) return own_handle;
    const std::lock_guard lock(own_mutex);
    if (is_made.load(std::memory_order_relaxed)) return own_handle;
    MPI_Comm made = MPI_COMM_NULL;
    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made) != MPI_SUCCESS) return MPI_COMM_NULL;
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    own_handle = made;
    is_made.store(true, std::memory_order_release);
    return made;
}

void free_own_communicator() {
    if (is_made.exchange(false)) PMPI_Comm_free(&own_handle);
}

}  // namespace lapwing
