// The walk of every collective from the program's call to a request that runs.
//
// A call is a struct of its arguments with a static `collective` and describe(group, problem, buffers).
// describe() fills in the problem and the buffers. It returns false if the arguments are wrong on this rank:
// such a call goes to the native MPI, whose error message the program expects. start() or make_persistent()
// then takes the description. recorded(rank) returns the arguments for the journal: only those on which all
// ranks of a correct program agree, read only where they are significant on this rank. transfer(peers)
// returns the data for the profile.
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
#include "mpi/native/pending_messages.hpp"
#include "mpi/requests/native_requests.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/start.hpp"
#include "task/bracketing.hpp"
#include "watch/journal.hpp"

// At the begin of each function of a collective.
#define LAPWING_ENTERS const lapwing::InMpi in_mpi(__builtin_return_address(0))

namespace lapwing {

// The record of a call of a collective in the journal.
class RecordedCall {
  public:
    template <typename Call>
    RecordedCall(const Call& call, MPI_Comm communicator, watch::Form form, const CallSite& site,
                 std::uint64_t now = watch::CallClock::next()) {
        id_.communicator = record_of(communicator);
        if (id_.communicator == nullptr) return;
        watch::CallArguments arguments = call.recorded(id_.communicator->rank());
        arguments.collective = Call::collective;
        id_.serial = id_.communicator->call(arguments, form, site.function, site.address, now);
    }
    RecordedCall(const RecordedCall&) = delete;
    RecordedCall& operator=(const RecordedCall&) = delete;
    // The description of the call on this rank.
    void described(const Problem& problem) const {
        if (!problem.parts.empty() && id_.communicator != nullptr)
            id_.communicator->blocks(id_.serial, problem);
    }
    // The call has returned this error of the MPI.
    void returned(int error) const {
        if (error != MPI_SUCCESS && id_.communicator != nullptr) [[unlikely]]
            id_.communicator->refused();
    }
    const watch::CallId& id() const { return id_; }
    void taken() const {
        if (id_.communicator != nullptr) id_.communicator->taken(id_.serial);
    }
    void completed() const {
        if (id_.communicator != nullptr) id_.communicator->completed(id_.serial);
    }
    watch::CallRecord* persistent(bool by_lapwing) const {
        return id_.communicator == nullptr ? nullptr : id_.communicator->persistent(id_.serial, by_lapwing);
    }

  private:
    watch::CallId id_;
};

// The group of the communicator; null if the native MPI must run the call.
Communicator* taking_communicator(MPI_Comm communicator, Collective collective);

// The native MPI runs this call while the program computes, perhaps with an operator of the program.
inline void left_to_mpi(Collective collective) {
    if (runtime.makes_operators && is_reduction(collective) && async_progress.leave_messages())
        runtime.why_no_messages =
            "a nonblocking reduction is left to the MPI, perhaps by an operator of the program";
}

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
            *handle = started.request->program_handle();
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
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
                Native native) {
    if (handle == nullptr) return native();
    return guarded([&] {
        RecordedCall recorded(call, communicator, watch::Form::nonblocking, site);
        const Started started =
            describe_and_start(call, communicator, [&](auto& group, auto& problem, auto& buffers) {
                recorded.described(problem);
                buffers.call_site = site.address;
                buffers.recorded = recorded.id();
                return start(group, problem, buffers, false);
            });
        if (started.outcome == Outcome::declined) left_to_mpi(Call::collective);
        const int error = end_of_start(started, communicator, handle, native);
        recorded.returned(error);
        if (started.outcome == Outcome::taken) {
            recorded.taken();
        } else if (error == MPI_SUCCESS) {
            native_requests().add(*handle, recorded.id(), nullptr);
            if (async_progress.serves_messages()) pending_messages.add(*handle, 1);
        } else {
            recorded.completed();
        }
        return error;
    });
}

// The init call of a persistent collective may wait for other ranks.
template <typename Call, typename Native>
int persistent(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
               Native native) {
    if (handle == nullptr) return native();
    return guarded([&] {
        const watch::InCall inside(site.function, site.address, word_of(communicator));
        RecordedCall recorded(call, communicator, watch::Form::persistent_init, site);
        const Started started =
            describe_and_start(call, communicator, [&](auto& group, auto& problem, auto& buffers) {
                recorded.described(problem);
                buffers.recorded = recorded.id();
                return make_persistent(group, problem, buffers);
            });
        if (started.outcome == Outcome::declined) left_to_mpi(Call::collective);
        const int error = end_of_start(started, communicator, handle, native);
        recorded.returned(error);
        if (started.outcome == Outcome::taken)
            started.request->persistent->recorded = recorded.persistent(true);
        else if (error == MPI_SUCCESS)
            native_requests().add(*handle, recorded.id(), recorded.persistent(false));
        return error;
    });
}

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, const CallSite& site, Native native) {
    const bool takes = takes_calls();  // begins the journal if that has not begun
    const std::uint64_t now = watch::CallClock::next();
    const watch::InCall inside(site.function, site.address, word_of(communicator), watch::Journal::no_peer,
                               -1, now);
    RecordedCall recorded(call, communicator, watch::Form::blocking, site, now);
    const bool reproducible = runtime.options.reproducible && is_reduction(Call::collective);
    if (!takes || (!runtime.takes_blocking && !reproducible)) {
        if (!takes && reproducible && runtime.started)
            runtime.report.count_fallback(Call::collective, runtime.why_not);
        else if (runtime.measures)
            runtime.report.count_blocking(Call::collective);
        const int error = native();
        recorded.returned(error);
        recorded.completed();
        return error;
    }
    return guarded([&] {
        const Started started =
            describe_and_start(call, communicator, [&](auto& group, auto& problem, auto& buffers) {
                recorded.described(problem);
                const bool must_take = reproducible && (buffers.converted || bracketing::matters(problem));
                if (!must_take && !runtime.takes_blocking) {
                    if (runtime.measures) runtime.report.count_blocking(Call::collective);
                    return Started::declined();
                }
                buffers.recorded = recorded.id();
                return start(group, problem, buffers, true);
            });
        MPI_Request handle = MPI_REQUEST_NULL;
        const bool taken = started.outcome == Outcome::taken;
        if (taken) recorded.taken();
        int error = end_of_start(started, communicator, &handle, native);
        recorded.returned(error);
        if (taken)
            error = wait_for(*started.request, &handle, MPI_STATUS_IGNORE, trace::Call::blocking_wait);
        else
            recorded.completed();
        return error;
    });
}

}  // namespace lapwing
