// The walk of every collective from the program's call to a request that runs.
//
// A call is a struct of its arguments with a static `collective` and describe(group, problem, buffers).
// describe() fills in the problem and the buffers. It returns false if the arguments are wrong on this rank:
// such a call goes to the native MPI, whose error message the program expects. start() or make_persistent()
// then takes the description. recorded(rank) returns the arguments for the journal: only those on which all
// ranks of a correct program agree, read only where they are significant on this rank. profiled_bytes(peers)
// returns the data for the profile. A describe() with a fourth parameter is told whether the call is
// blocking.
#pragma once

#include <mpi.h>

#include "base/clock.hpp"
#include "mpi/calls/completion.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/init.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/native_requests.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/start.hpp"
#include "watch/journal.hpp"

// At the begin of each function of a collective.
#define LAPWING_ENTERS const lapwing::InMpi in_mpi(__builtin_return_address(0))

namespace lapwing {

// The group of the communicator; null if the native MPI must run the call.
Communicator* taking_communicator(MPI_Comm communicator, Collective collective);

// The native MPI runs this call while the program computes, perhaps with an operator of the program.
inline void left_to_mpi(Collective collective) {
    if (runtime.makes_operators && is_reduction(collective) && async_progress.leave_messages())
        runtime.mode.why_no_messages =
            "a nonblocking reduction is left to the MPI, perhaps by an operator of the program";
}

// `take` is start() or make_persistent(). Inline: 2 ns of 50 in each small collective.
template <typename Call, typename Take>
[[gnu::always_inline]] inline Started describe_and_start(const Call& call, MPI_Comm communicator,
                                                         const RecordedCall& recorded, Take take) {
    constexpr Collective collective = Call::collective;
    Communicator* const group = taking_communicator(communicator, collective);
    if (group == nullptr) return {};
    Problem problem = {.collective = collective, .ranks = group->ranks};
    UserBuffers buffers;
    if constexpr (has_parts(collective)) group->block_memory.exchange(problem, buffers);
    bool described = false;
    if constexpr (requires { call.describe(*group, problem, buffers, true); })
        described = call.describe(*group, problem, buffers, recorded.is_blocking());
    else
        described = call.describe(*group, problem, buffers);
    const bool fitting = described && fits(problem);
    if (!fitting || (buffers.reduction && !runtime.mode.lists_reduce_by_mpi())) {
        runtime.report.count_fallback(collective, fitting ? Fallback::no_hook : Fallback::arguments);
        return {};
    }
    recorded.described(problem);
    const Started started = take(*group, problem, buffers, recorded);
    if constexpr (has_parts(collective)) group->block_memory.exchange(problem, buffers);  // for the next call
    return started;
}

// A call that has started no list goes to the native MPI, or returns its error.
template <typename Native>
int end_without_list(const Started& started, MPI_Comm communicator, const RecordedCall& recorded,
                     Native native) {
    if (started.error == MPI_SUCCESS) return recorded.returned(native());
    PMPI_Comm_call_errhandler(communicator, started.error);
    return recorded.returned(started.error);
}

// The same for a call that makes a request, whose handle the native MPI sets.
template <typename Call, typename Native>
int end_request_without_list(const Started& started, MPI_Comm communicator, const RecordedCall& recorded,
                             const MPI_Request& handle, Native native) {
    if (started.error == MPI_SUCCESS) left_to_mpi(Call::collective);
    const int error = end_without_list(started, communicator, recorded, native);
    if (error != MPI_SUCCESS) return error;
    const bool persistent = recorded.form() == watch::Form::persistent_init;
    // MPICH 5 and Intel MPI count a poll of a persistent request as its completion: such are not watched.
    if (persistent && runtime.loses_persistent_messages) return error;
    watch::CallRecord* const starts = persistent ? recorded.record_starts(false) : nullptr;
    const Entry entry;
    native_requests.add_collective(handle, recorded.id(), persistent, starts);
    return error;
}

template <typename Call, typename Native>
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
                Native native) {
    if (handle == nullptr) return native();
    return guarded([&]() -> int {
        const RecordedCall recorded(call, communicator, watch::Form::nonblocking, site.function,
                                    site.address);
        const Started started = describe_and_start(call, communicator, recorded, start);
        if (started.request != nullptr) {
            *handle = started.request->handle;
            return MPI_SUCCESS;
        }
        recorded.record();
        return end_request_without_list<Call>(started, communicator, recorded, *handle, native);
    });
}

// The init call of a persistent collective may wait for other ranks.
template <typename Call, typename Native>
int persistent(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
               Native native) {
    if (handle == nullptr) return native();
    return guarded([&]() -> int {
        const watch::InCall inside(site.function, site.address, word_of(communicator));
        const RecordedCall recorded(call, communicator, watch::Form::persistent_init, site.function,
                                    site.address);
        recorded.record();
        const Started started = describe_and_start(call, communicator, recorded, make_persistent);
        if (started.request != nullptr) {
            *handle = started.request->persistent->handle.get();
            return MPI_SUCCESS;
        }
        return end_request_without_list<Call>(started, communicator, recorded, *handle, native);
    });
}

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, const CallSite& site, Native native) {
    const bool takes = takes_calls();  // begins the journal if that has not begun
    const std::uint64_t now = watch::CallClock::next();
    const watch::InCall inside(site.function, site.address, word_of(communicator), watch::Journal::no_peer,
                               -1, now);
    const RecordedCall recorded(call, communicator, watch::Form::blocking, site.function, site.address, now);
    if (!takes || !runtime.takes_blocking) {
        if (runtime.takes_blocking && runtime.started)
            runtime.report.count_fallback(Call::collective, runtime.why_not);
        else if (runtime.measures)
            runtime.report.count_blocking(Call::collective);
        recorded.record();
        return recorded.returned(native());
    }
    return guarded([&]() -> int {
        const Started started = describe_and_start(call, communicator, recorded, start);
        if (started.request == nullptr) {
            recorded.record();
            return end_without_list(started, communicator, recorded, native);
        }
        // Another thread that completes the list may have to give it to the MPI.
        MPI_Request handle = started.request->handle;
        return wait_for(*started.request, &handle, MPI_STATUS_IGNORE, trace::Call::blocking_wait);
    });
}

}  // namespace lapwing
