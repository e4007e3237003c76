#include "mpi/native/guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "base/messages.hpp"
#include "links/mpi/mpi_error.hpp"
#include "mpi/native/members.hpp"

namespace lapwing {

void end_job(const std::string& message, int status) {
    print_message("lapwing: {}\n", message);
    // A launcher that aborts at once may drop a rank's last output.
    ::usleep(200'000);
    PMPI_Abort(MPI_COMM_WORLD, status);
    std::abort();
}

int error_code_of(const Error& error) {
    if (const auto* const failed = dynamic_cast<const MpiError*>(&error)) return failed->mpi_code();
    if (error.code() != ErrorCode::truncated) throw;
    return MPI_ERR_TRUNCATE;
}

int raise(MPI_Comm communicator, int error) {
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(communicator == MPI_COMM_NULL ? MPI_COMM_WORLD : communicator, error);
    return error;
}

int handle_exception() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    } catch (const std::exception& exception) {
        end_job(fmt::format("rank {}: {}", rank_in(MPI_COMM_WORLD), exception.what()), 1);
    }
}

}  // namespace lapwing
