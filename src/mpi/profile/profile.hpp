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
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/trace.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/profiled_bytes.hpp"
#include "mpi/profile/definitions.hpp"
#include "task/problem.hpp"

// At the begin of each function of a collective: no thread of Lapwing calls the MPI here.
#define LAPWING_ENTERS static_assert(true)

namespace lapwing::profile {

// After MPI_Init, and before MPI_Finalize.
void begin();
void end();

// One rank's part in a collective.
enum class Role : std::uint8_t { equal, gives, takes };  // gives, takes: the root gives or takes all
struct Root {
    Role role = Role::equal;
    int rank = 0;
};
constexpr Role role_in(Collective collective) {
    using enum Collective;
    if (!has_root(collective)) return Role::equal;
    return collective == broadcast || collective == scatter || collective == scatterv ? Role::gives
                                                                                      : Role::takes;
}
// `Call`: a struct of arguments, see calls/call.hpp.
template <typename Call>
Root root_of([[maybe_unused]] const Call& call) {
    constexpr Role role = role_in(Call::collective);
    if constexpr (role == Role::equal)
        return {};
    else
        return {role, call.root};
}

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

// enter() and remember(): with the lock held. `on`: null of a message.
Called enter(const CallSite& site, Communicator* on, std::uint64_t bytes, Root root);
// Of a call that has made a persistent collective or message: enter() is for its starts.
void remember(const char* function, std::shared_ptr<Communicator> on, std::uint64_t bytes, Root root,
              MPI_Request handle);
void forget(MPI_Request handle);
void leave(const Called& called);  // of a blocking call
// Of a nonblocking one; the handle is null if it has failed.
void leave(const Called& called, MPI_Request handle);

// Of a wrong type the MPI calls the program's error handler, which may make profiled calls.
template <typename Call>
std::uint64_t unlocked_bytes(const Call& call, const CallPeers& peers, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const std::uint64_t bytes = call.profiled_bytes(peers);
    lock.lock();
    return bytes;
}

template <typename Call>
Called enter(const Call& call, MPI_Comm communicator, const CallSite& site) {
    std::unique_lock lock(shared_lock());
    const auto known = find(communicator);
    const std::uint64_t bytes = unlocked_bytes(call, known->peers, lock);
    return enter(site, known.get(), bytes, root_of(call));
}

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, const CallSite& site, Native native) {
    if (!trace::on() || communicator == MPI_COMM_NULL) return native();
    const Called called = enter(call, communicator, site);
    const int error = native();
    leave(called);
    return error;
}

template <typename Call, typename Native>
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
                Native native) {
    if (!trace::on() || communicator == MPI_COMM_NULL || handle == nullptr) return native();
    const Called called = enter(call, communicator, site);
    const int error = native();
    leave(called, error == MPI_SUCCESS ? *handle : MPI_REQUEST_NULL);
    return error;
}

template <typename Call, typename Native>
int persistent(const Call& call, MPI_Comm communicator, MPI_Request* handle, const CallSite& site,
               Native native) {
    if (!trace::on() || communicator == MPI_COMM_NULL || handle == nullptr) return native();
    const int error = native();
    if (error != MPI_SUCCESS) return error;
    std::unique_lock lock(shared_lock());
    const auto known = find(communicator);
    const std::uint64_t bytes = unlocked_bytes(call, known->peers, lock);
    remember(site.function, known, bytes, root_of(call), *handle);
    return error;
}

// For calls that start persistent requests.
class Starting {
  public:
    Starting(const void* from, int count, const MPI_Request* handles);
    void done();

  private:
    std::vector<std::pair<MPI_Request, Called>> ours_;
};

// What a completing call has completed: all of its requests, or those with these indices.
struct Completed {
    bool all = false;
    std::span<const int> indices;
};

// For completing calls.
class Completing {
  public:
    Completing(const void* from, int count, const MPI_Request* handles);
    void done(const Completed& completed);

  private:
    const void* from_;
    std::uint64_t began_ = 0;
    bool has_collectives_ = false;
    std::vector<std::pair<int, MPI_Request>> ours_;  // places in the array
};

}  // namespace lapwing::profile

// For mpi/calls/functions.hpp.
namespace lapwing {
using profile::blocking;
using profile::nonblocking;
using profile::persistent;
}  // namespace lapwing
