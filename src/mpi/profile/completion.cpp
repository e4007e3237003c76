// The calls that start and complete requests.
#include <span>

#include "mpi/profile/profile.hpp"

namespace {

using lapwing::profile::Completed;
using lapwing::profile::Completing;
using lapwing::profile::Starting;
using lapwing::trace::on;

Completed all_if(bool all) {
    return {all, {}};
}

Completed at(const int* indices, int count) {
    if (count == MPI_UNDEFINED || count <= 0 || indices[0] == MPI_UNDEFINED) return {};
    return {false, {indices, static_cast<std::size_t>(count)}};
}

template <typename Native, typename GetCompleted>
int completing(const void* from, int count, const MPI_Request* handles, Native native,
               GetCompleted completed) {
    if (!on()) return native();
    Completing call(from, count, handles);
    const int error = native();
    if (error == MPI_SUCCESS) call.done(completed());
    return error;
}

template <typename Native>
int starting(const void* from, int count, const MPI_Request* handles, Native native) {
    if (!on() || handles == nullptr) return native();
    Starting call(from, count, handles);
    const int error = native();
    if (error == MPI_SUCCESS) call.done();
    return error;
}

}  // namespace

#define LAPWING_HERE __builtin_return_address(0)

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    return starting(LAPWING_HERE, 1, handle, [&] { return NEXT_Start(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    return starting(LAPWING_HERE, count, handles, [&] { return NEXT_Startall(count, handles); });
}

LAPWING_MPI MPI_Request_free(MPI_Request* handle) {
    if (on() && handle != nullptr) lapwing::profile::forget(*handle);
    return NEXT_Request_free(handle);
}

LAPWING_MPI MPI_Wait(MPI_Request* handle, MPI_Status* status) {
    return completing(
        LAPWING_HERE, 1, handle, [&] { return NEXT_Wait(handle, status); }, [] { return all_if(true); });
}

LAPWING_MPI MPI_Test(MPI_Request* handle, int* flag, MPI_Status* status) {
    return completing(
        LAPWING_HERE, 1, handle, [&] { return NEXT_Test(handle, flag, status); },
        [&] { return all_if(*flag != 0); });
}

LAPWING_MPI MPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE, count, handles, [&] { return NEXT_Waitall(count, handles, statuses); },
        [] { return all_if(true); });
}

LAPWING_MPI MPI_Testall(int count, MPI_Request handles[], int* flag, MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE, count, handles, [&] { return NEXT_Testall(count, handles, flag, statuses); },
        [&] { return all_if(*flag != 0); });
}

LAPWING_MPI MPI_Waitany(int count, MPI_Request handles[], int* index, MPI_Status* status) {
    return completing(
        LAPWING_HERE, count, handles, [&] { return NEXT_Waitany(count, handles, index, status); },
        [&] { return at(index, 1); });
}

LAPWING_MPI MPI_Testany(int count, MPI_Request handles[], int* index, int* flag, MPI_Status* status) {
    return completing(
        LAPWING_HERE, count, handles, [&] { return NEXT_Testany(count, handles, index, flag, status); },
        [&] { return *flag != 0 ? at(index, 1) : Completed(); });
}

LAPWING_MPI MPI_Waitsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE, count, handles,
        [&] { return NEXT_Waitsome(count, handles, completed, indices, statuses); },
        [&] { return at(indices, *completed); });
}

LAPWING_MPI MPI_Testsome(int count, MPI_Request handles[], int* completed, int indices[],
                         MPI_Status statuses[]) {
    return completing(
        LAPWING_HERE, count, handles,
        [&] { return NEXT_Testsome(count, handles, completed, indices, statuses); },
        [&] { return at(indices, *completed); });
}

// The request stays.
LAPWING_MPI MPI_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
    return completing(
        LAPWING_HERE, 1, &handle, [&] { return NEXT_Request_get_status(handle, flag, status); },
        [] { return Completed(); });
}
