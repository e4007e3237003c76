// The walk of every collective from the program's call to a request that runs.
//
// A call is a struct of its arguments with a static `collective` and describe(group, problem, buffers).
// describe() fills in the problem and the buffers. It returns false if the arguments are wrong on this rank:
// such a call goes to the native MPI, whose error message the program expects. start() or make_persistent()
// then takes the description.
#pragma once

#include <mpi.h>

#include "base/clock.hpp"
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

// `call_site`: where the program has called; null: unknown.
template <typename Call, typename Native>
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, Native native,
                const void* call_site = nullptr) {
    if (handle == nullptr) return native();
    return guarded([&] {
        const Started started =
            describe_and_start(call, communicator, [&](auto& group, auto& problem, auto& buffers) {
                buffers.call_site = call_site;
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

// The case of a blocking call with LAPWING_BLOCKING=auto, decided if all its trials are over. Adds up the
// ranks' times then, on the program's communicator. Null if the native MPI must run the call untimed.
BlockingChoice::Case* blocking_case(Communicator& group, const Problem& problem);

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, Native native) {
    if (!takes_calls() || runtime.takes_blocking == TakenBlocking::none) {
        if (runtime.measures) runtime.report.count_blocking(Call::collective);
        return native();
    }
    return guarded([&] {
        BlockingChoice::Case* measured = nullptr;
        std::uint64_t began = 0;
        const Started started =
            describe_and_start(call, communicator, [&](auto& group, auto& problem, const auto& buffers) {
                if (runtime.takes_blocking == TakenBlocking::measured) {
                    BlockingChoice::Case* const one = blocking_case(group, problem);
                    if (one != nullptr && one->timed()) {
                        measured = one;
                        began = nanoseconds();
                    }
                    if (one == nullptr || one->way() == BlockingChoice::Way::mpi) {
                        runtime.report.count_fallback(Call::collective, Fallback::measured);
                        return Started::declined();
                    }
                }
                return start(group, problem, buffers, true);
            });
        MPI_Request handle = MPI_REQUEST_NULL;
        const bool taken = started.outcome == Outcome::taken;
        int error = end_of_start(started, communicator, &handle, native);
        if (taken) error = wait_for(*started.request, &handle, MPI_STATUS_IGNORE, trace::Call::blocking_wait);
        if (measured != nullptr) measured->took(nanoseconds() - began, taken);
        return error;
    });
}

}  // namespace lapwing
