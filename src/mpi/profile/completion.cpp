// The calls that start and complete requests.
#include "mpi/profile/profile.hpp"

using lapwing::profile::Completing;
using lapwing::profile::Starting;

namespace {

template <typename Native>
int completing(const void* from, int count, MPI_Request* handles, Native native) {
    Completing call(from, count, handles);
    const int error = native();
    if (error == MPI_SUCCESS) call.done(handles);
    return error;
}

template <typename Native>
int starting(const void* from, int count, const MPI_Request* handles, Native native) {
    Starting call(from, count, handles);
    const int error = native();
    if (error == MPI_SUCCESS) call.done();
    return error;
}

}  // namespace

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    return starting(__builtin_return_address(0), 1, handle, [&] { return NEXT_Start(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    return starting(__builtin_return_address(0), count, handles,
                    [&] { return NEXT_Startall(count, handles); });
}

LAPWING_MPI MPI_Request_free(MPI_Request* handle) {
    if (handle != nullptr) lapwing::profile::forget(*handle);
    return NEXT_Request_free(handle);
}

LAPWING_MPI MPI_Wait(MPI_Request* handle, MPI_Status* status) {
    return completing(__builtin_return_address(0), 1, handle, [&] { return NEXT_Wait(handle, status); });
}

LAPWING_MPI MPI_Test(MPI_Request* handle, int* flag, MPI_Status* status) {
    return completing(__builtin_return_address(0), 1, handle,
                      [&] { return NEXT_Test(handle, flag, status); });
}

LAPWING_MPI MPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
    return completing(__builtin_return_address(0), count, handles,
                      [&] { return NEXT_Waitall(count, handles, statuses); });
}

LAPWING_MPI MPI_Testall(int count, MPI_Request handles[], int* flag, MPI_Status statuses[]) {
    return completing(__builtin_return_address(0), count, handles,
                      [&] { return NEXT_Testall(count, handles, flag, statuses); });
}

LAPWING_MPI MPI_Waitany(int count, MPI_Request handles[], int* index, MPI_Status* status) {
    return completing(__builtin_return_address(0), count, handles,
                      [&] { return NEXT_Waitany(count, handles, index, status); });
}

LAPWING_MPI MPI_Testany(int count, MPI_Request handles[], int* index, int* flag, MPI_Status* status) {
    return completing(__builtin_return_address(0), count, handles,
                      [&] { return NEXT_Testany(count, handles, index, flag, status); });
}

LAPWING_MPI MPI_Waitsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return completing(__builtin_return_address(0), count, handles,
                      [&] { return NEXT_Waitsome(count, handles, completed, indices, statuses); });
}

LAPWING_MPI MPI_Testsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return completing(__builtin_return_address(0), count, handles,
                      [&] { return NEXT_Testsome(count, handles, completed, indices, statuses); });
}

LAPWING_MPI MPI_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
    MPI_Request same = handle;
    return completing(__builtin_return_address(0), 1, &same,
                      [&] { return NEXT_Request_get_status(handle, flag, status); });
}
