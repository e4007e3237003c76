// The calls that start persistent requests.
#include <mpi.h>

#include <algorithm>

#include "device/memory.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/in_flight.hpp"
#include "mpi/requests/persistent.hpp"

using namespace lapwing;

namespace {

Request* find(MPI_Request handle) {
    const Entry entry;
    return find_persistent(handle);
}

int start(MPI_Request* handle) {
    Request* request = find(*handle);
    if (request == nullptr) return PMPI_Start(handle);
    device::look();
    MPI_Comm communicator = MPI_COMM_NULL;
    int error = MPI_SUCCESS;
    {
        const Entry entry;
        communicator = request->group->communicator;
        error = start_again(*request);
    }
    return raise(communicator, error);
}

}  // namespace

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    if (persistent_requests == 0 || handle == nullptr) return PMPI_Start(handle);
    return guarded([&] { return start(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    if (persistent_requests == 0 || handles == nullptr) return PMPI_Startall(count, handles);
    return guarded([&]() -> int {
        const auto is_ours = [](MPI_Request handle) { return find(handle) != nullptr; };
        if (count <= 0 || std::none_of(handles, handles + count, is_ours))
            return PMPI_Startall(count, handles);
        for (int i = 0; i < count; ++i) {
            if (const int error = start(&handles[i]); error != MPI_SUCCESS) return error;
        }
        return MPI_SUCCESS;
    });
}
