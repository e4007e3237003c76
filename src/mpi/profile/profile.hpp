// The profile of a program's own collectives: a preload library that stands before the MPI's functions, hands
// every call on as it is, and records when it was made, from where, and how long it took. `lapwing profile`
// reads it.
//
// What the profile records are events and facts of base/trace.hpp:
//   collective  began, ended: of the call; a nonblocking one has ended when a completing call has said so.
//               operation: which one on its communicator, counted on all ranks alike; peer: the
//               communicator's fact; index: the site's; bytes: of this rank's own block or blocks; kind: 1,
//               nonblocking; + 2, this rank is the root, which gives all; + 4, which takes all
//   call        of a nonblocking one, besides. began: when the starting call returned; ended: as much later
//               as completing calls took, each divided equally among its requests; bytes: nanoseconds from
//               there to completion that the thread spent outside of calls of collectives; index: the site
//               of the last completing call
//
// Messages are many: their times are summed up at each site, and written as a fact at the end.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "base/trace.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/profiled_bytes.hpp"
#include "mpi/profile/definitions.hpp"
#include "task/mpi_function.hpp"
#include "task/problem.hpp"

// At the begin of each function of a collective: no thread of Lapwing calls the MPI here.
#define LAPWING_ENTERS static_assert(true)

namespace lapwing::profile {

// After MPI_Init, and before MPI_Finalize.
void begin();
void end();

// The bits of an event's kind if this rank is the root of the call. `Call`: a struct of arguments, see
// calls/call.hpp.
template <typename Call>
std::uint8_t root_kind([[maybe_unused]] const Call& call, [[maybe_unused]] const CallPeers& peers) {
    if constexpr (has_root(Call::collective)) {
        using enum Collective;
        constexpr bool gives =
            Call::collective == broadcast || Call::collective == scatter || Call::collective == scatterv;
        if (peers.is_root(call.root)) return gives ? 2 : 4;
    }
    return 0;
}

// What the events of a collective or of a message have besides its times.
struct Recorded {
    std::shared_ptr<Communicator> communicator = {};  // which the program may have freed; null: a message
    std::uint64_t bytes = 0;
    std::uint8_t root = 0;  // root_kind() of a collective
};

// A collective, or a call that sends or receives messages, from its beginning to the event that records it.
struct Called {
    bool is_message = false;
    std::uint8_t kind = 0;  // of the event of a blocking collective
    std::uint32_t site = 0;
    std::uint32_t communicator = 0;  // of a collective
    std::uint32_t number = 0;        // on that communicator
    std::uint64_t bytes = 0;
    std::uint64_t began = 0;
};

Called enter(const CallSite& site, const Recorded& what);
// Of a call that has made a persistent collective or message: enter() is for its starts.
void remember(const char* function, Recorded what, MPI_Request handle);
// `made`: the request that a nonblocking call has made; MPI_REQUEST_NULL if the call has failed. Null: of a
// blocking call.
void leave(const Called& called, const MPI_Request* made);

template <typename Call>
Recorded recorded(const Call& call, MPI_Comm communicator) {
    const auto known = find(communicator);
    return {known, call.profiled_bytes(known->peers), root_kind(call, known->peers)};
}

// Calls the MPI, and records the call. `request`: that the call makes, null if it makes none.
template <typename Native, typename GetRecorded>
int profiled(const CallSite& site, const MPI_Request* request, Native native, GetRecorded get_recorded) {
    // One instance of this template serves one function.
    static const bool persistent = MpiFunction::of(site.function).form == MpiFunction::Form::persistent;
    Called called;
    if (!persistent) called = enter(site, get_recorded());
    const int error = native();
    const MPI_Request made = request == nullptr || error != MPI_SUCCESS ? MPI_REQUEST_NULL : *request;
    if (!persistent)
        leave(called, request != nullptr ? &made : nullptr);
    else if (made != MPI_REQUEST_NULL)
        remember(site.function, get_recorded(), made);
    return error;
}

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, const CallSite& site, Native native) {
    if (!trace::on() || communicator == MPI_COMM_NULL) return native();
    return profiled(site, nullptr, native, [&] { return recorded(call, communicator); });
}

template <typename Call, typename Native>
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
                Native native) {
    if (!trace::on() || communicator == MPI_COMM_NULL || handle == nullptr) return native();
    return profiled(site, handle, native, [&] { return recorded(call, communicator); });
}

template <typename Call, typename Native>
int persistent(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
               Native native) {
    return nonblocking(call, communicator, handle, site, native);
}

}  // namespace lapwing::profile

// For mpi/calls/functions.hpp.
namespace lapwing {
using profile::blocking;
using profile::nonblocking;
using profile::persistent;
}  // namespace lapwing
