// The calls that start and complete requests.

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

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    return starting(__builtin_return_address(0), 1, handle, [&] { return NEXT_Start(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    return starting(__builtin_return_address(0), count, handles,
                    [&] { return NEXT_Startall(count, handles); });
}

LAPWING_MPI MPI_Request_free(MPI_Request* handle) {
    if (on() && handle != nullptr) lapwing::profile::forget(*handle);
    return NEXT_Request_free(handle);
}

#define LAPWING_COMPLETES(function, parameters, names, number, requests, which)                          \
    LAPWING_MPI function parameters {                                                                    \
        return completing(                                                                               \
            __builtin_return_address(0), number, requests, [&] { return LAPWING_NEXT(function) names; }, \
            [&] { return which; });                                                                      \
    }
LAPWING_COMPLETES(MPI_Wait, (MPI_Request * handle, MPI_Status* status), (handle, status), 1, handle,
                  all_if(true))
LAPWING_COMPLETES(MPI_Test, (MPI_Request * handle, int* flag, MPI_Status* status), (handle, flag, status), 1,
                  handle, all_if(*flag != 0))
LAPWING_COMPLETES(MPI_Waitall, (int count, MPI_Request handles[], MPI_Status statuses[]),
                  (count, handles, statuses), count, handles, all_if(true))
LAPWING_COMPLETES(MPI_Testall, (int count, MPI_Request handles[], int* flag, MPI_Status statuses[]),
                  (count, handles, flag, statuses), count, handles, all_if(*flag != 0))
LAPWING_COMPLETES(MPI_Waitany, (int count, MPI_Request handles[], int* index, MPI_Status* status),
                  (count, handles, index, status), count, handles, at(index, 1))
LAPWING_COMPLETES(MPI_Testany, (int count, MPI_Request handles[], int* index, int* flag, MPI_Status* status),
                  (count, handles, index, flag, status), count, handles,
                  *flag != 0 ? at(index, 1) : Completed())
LAPWING_COMPLETES(MPI_Waitsome,
                  (int count, MPI_Request handles[], int* completed, int indices[], MPI_Status statuses[]),
                  (count, handles, completed, indices, statuses), count, handles, at(indices, *completed))
LAPWING_COMPLETES(MPI_Testsome,
                  (int count, MPI_Request handles[], int* completed, int indices[], MPI_Status statuses[]),
                  (count, handles, completed, indices, statuses), count, handles, at(indices, *completed))
// The request stays.
LAPWING_COMPLETES(MPI_Request_get_status, (MPI_Request handle, int* flag, MPI_Status* status),
                  (handle, flag, status), 1, &handle, Completed())
