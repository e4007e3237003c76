// The functions that start, free and cancel requests, and those that free operators and datatypes.
#include <mpi.h>

#include <algorithm>

#include "device/memory.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/native/reduction.hpp"
#include "mpi/native/refusals.hpp"
#include "mpi/requests/native_requests.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {
namespace {

Request* find_persistent(MPI_Request handle) {
    const Entry entry;
    return request_table.find_persistent(handle);
}

// A persistent request, or one that the program has started. Inside Entry.
Request* find_ours(MPI_Request handle) {
    Request* const persistent = request_table.find_persistent(handle);
    return persistent != nullptr ? persistent : request_table.find(handle);
}

template <typename Native>
int start_native(int count, const MPI_Request* handles, Native native) {
    const int error = native();
    const Entry entry;
    for (int i = 0; i < count && error == MPI_SUCCESS; ++i) native_requests.start(handles[i]);
    return error;
}

int start_persistent(MPI_Request* handle) {
    Request* const request = find_persistent(*handle);
    if (request == nullptr) return start_native(1, handle, [&] { return NEXT_Start(handle); });
    device::look();
    MPI_Comm communicator = MPI_COMM_NULL;
    int error = MPI_SUCCESS;
    {
        const Entry entry;
        communicator = request->group->of_errors();
        error = start_again(*request);
    }
    return raise(communicator, error);
}

// What collectives in flight need stays until they are complete.
template <typename Handle>
int free_handle(Handle* handle, Handle none, bool (*is_held)(Handle), int (*free)(Handle*)) {
    if (handle == nullptr || !runtime.started) return free(handle);
    {
        const Entry entry;
        if (is_held(*handle)) {
            *handle = none;
            return MPI_SUCCESS;
        }
    }
    return free(handle);
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Start(MPI_Request* handle) {
    const InMpi in_mpi(__builtin_return_address(0));
    if (request_book.persistent() == 0 || handle == nullptr) return NEXT_Start(handle);
    return guarded([&] { return start_persistent(handle); });
}

LAPWING_MPI MPI_Startall(int count, MPI_Request handles[]) {
    const InMpi in_mpi(__builtin_return_address(0));
    if (request_book.persistent() == 0 || handles == nullptr) return NEXT_Startall(count, handles);
    return guarded([&]() -> int {
        const auto is_ours = [](MPI_Request handle) { return find_persistent(handle) != nullptr; };
        if (count <= 0 || std::none_of(handles, handles + count, is_ours))
            return start_native(count, handles, [&] { return NEXT_Startall(count, handles); });
        for (int i = 0; i < count; ++i) {
            if (const int error = start_persistent(&handles[i]); error != MPI_SUCCESS) return error;
        }
        return MPI_SUCCESS;
    });
}

// The standard forbids to free the request of a collective in flight. Open MPI refuses it, and frees complete
// ones; MPICH lets the collective complete.
LAPWING_MPI MPI_Request_free(MPI_Request* handle) {
    const InMpi in_mpi(__builtin_return_address(0));
    if (request_book.alive() + request_book.persistent() == 0 || handle == nullptr)
        return NEXT_Request_free(handle);
    return guarded([&]() -> int {
        Request* request = nullptr;
        const MPI_Request freed = *handle;
        NativeRequest* native = nullptr;
        std::uint64_t number = 0;
        {
            const Entry entry;
            request = find_ours(*handle);
            native = find_native(*handle);
            if (native != nullptr) number = native->number;
        }
        if (request == nullptr) {
            const int error = NEXT_Request_free(handle);
            const Entry entry;
            if (error == MPI_SUCCESS && native != nullptr && native->number == number)
                native_requests.remove(freed, *native);
            return error;
        }
        if (!request->is_persistent) {
            if (const int answer = answer_for_collective(PMPI_Request_free); answer != MPI_SUCCESS)
                return answer;
        }
        bool with_mpi = false;
        {
            const Entry entry;
            const bool active = !request_table.test(*request);
            with_mpi = request->state == RequestState::with_mpi;
            if (!with_mpi && !(active && refuses_to_free_active)) {
                request_table.forget(*request);
                *handle = MPI_REQUEST_NULL;
                return MPI_SUCCESS;
            }
        }
        return with_mpi ? NEXT_Request_free(handle) : raise(MPI_COMM_WORLD, MPI_ERR_REQUEST);
    });
}

// The standard forbids to cancel collectives. The MPI would cancel the receive that represents a persistent
// one.
LAPWING_MPI MPI_Cancel(MPI_Request* handle) {
    const InMpi in_mpi(__builtin_return_address(0));
    if (request_book.alive() + request_book.persistent() == 0 || handle == nullptr)
        return NEXT_Cancel(handle);
    return guarded([&]() -> int {
        if (inside_entry([&] { return find_ours(*handle); }) == nullptr) return NEXT_Cancel(handle);
        const int error = answer_for_collective(PMPI_Cancel);
        // Open MPI returns no error for its own complete collective.
        return error == MPI_SUCCESS ? raise(MPI_COMM_WORLD, MPI_ERR_REQUEST) : error;
    });
}

LAPWING_MPI MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* op) {
    const InMpi in_mpi(__builtin_return_address(0));
    runtime.makes_operators = true;
    return NEXT_Op_create(function, commutes, op);
}

#if MPI_VERSION >= 4
LAPWING_MPI MPI_Op_create_c(MPI_User_function_c* function, int commutes, MPI_Op* op) {
    const InMpi in_mpi(__builtin_return_address(0));
    runtime.makes_operators = true;
    return NEXT_Op_create_c(function, commutes, op);
}
#endif

LAPWING_MPI MPI_Op_free(MPI_Op* op) {
    const InMpi in_mpi(__builtin_return_address(0));
    return free_handle(op, MPI_OP_NULL, keeps_operator, NEXT_Op_free);
}

LAPWING_MPI MPI_Type_free(MPI_Datatype* type) {
    const InMpi in_mpi(__builtin_return_address(0));
    return free_handle(type, MPI_DATATYPE_NULL, keeps_type, NEXT_Type_free);
}
