// The walk of every collective from the program's call to a request that runs.
//
// A call is a struct of its arguments with a static `collective` and describe(group, problem, buffers).
// describe() fills in the problem and the buffers. It returns false if the arguments are wrong on this rank:
// such a call goes to the native MPI, whose error message the program expects. start() or make_persistent()
// then takes the description.
#pragma once

#include <mpi.h>

#include "mpi/calls/completion.hpp"
#include "mpi/calls/init.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/make_persistent.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {

// The group of the communicator; null if the native MPI must run the call.
Communicator* taking_communicator(MPI_Comm communicator, Collective collective);

// `start(group, problem, buffers)` takes the description. Inline: 2 ns of 50 in each small collective.
template <typename Call, typename Start>
[[gnu::always_inline]] inline Started describe_and_start(const Call& call, MPI_Comm communicator,
                                                         Start start) {
    Communicator* const group = taking_communicator(communicator, Call::collective);
    if (group == nullptr) return Started::declined();
    Problem problem = {.collective = Call::collective, .ranks = group->ranks};
    UserBuffers buffers;
    if (!call.describe(*group, problem, buffers)) {
        runtime.report.count_fallback(Call::collective, Fallback::arguments);
        return Started::declined();
    }
    return start(*group, problem, buffers);
}

// The end of a call that returns a request to the program.
template <typename Native>
int end_of_start(const Started& started, MPI_Comm communicator, MPI_Request* handle, Native native) {
    switch (started.outcome) {
        case Outcome::taken:
            *handle = started.request->handle;
            return MPI_SUCCESS;
        case Outcome::declined:
            return native();
        case Outcome::failed:
            break;
    }
    PMPI_Comm_call_errhandler(communicator, started.error);
    return started.error;
}

template <typename Call, typename Native>
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, Native native) {
    if (handle == nullptr) return native();
    return guarded([&] {
        const Started started =
            describe_and_start(call, communicator, [](auto& group, auto& problem, const auto& buffers) {
                return start(group, problem, buffers, false);
            });
        return end_of_start(started, communicator, handle, native);
    });
}

template <typename Call, typename Native>
int persistent(const Call& call, MPI_Comm communicator, MPI_Request* handle, Native native) {
    if (handle == nullptr) return native();
    return guarded([&] {
        return end_of_start(describe_and_start(call, communicator, make_persistent), communicator, handle,
                            native);
    });
}

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, Native native) {
    if (!takes_calls() || !runtime.takes_blocking) {
        if (runtime.measures) runtime.report.count_blocking(Call::collective);
        return native();
    }
    return guarded([&] {
        const Started started =
            describe_and_start(call, communicator, [](auto& group, auto& problem, const auto& buffers) {
                return start(group, problem, buffers, true);
            });
        MPI_Request handle = MPI_REQUEST_NULL;
        const int error = end_of_start(started, communicator, &handle, native);
        return started.outcome == Outcome::taken
                   ? wait_for(*started.request, &handle, MPI_STATUS_IGNORE, trace::Call::blocking_wait)
                   : error;
    });
}

}  // namespace lapwing
