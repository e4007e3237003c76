// First touches and last writes, for `lapwing profile --first-touch`: the guards and watches of
// mpi/first_touch/, if that library is loaded.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "mpi/profile/called.hpp"

namespace lapwing::profile {

namespace detail {
extern std::atomic<bool> guards_buffers;
void lift();
void begin_transfer(Called& called);
void watch_sent(const Called& called);
void end_transfer(const Called& called, std::uint64_t started, std::uint64_t inside,
                  std::uint32_t completed_at);
}  // namespace detail

// Whether first touches are recorded.
inline bool guarding() {
    return detail::guards_buffers.load(std::memory_order_relaxed);
}

// After MPI_Init: looks for the library.
void begin_guarding();
// Before MPI_Finalize: writes what was refused, and what is known of messages.
void end_guarding();

// Memory of `count` elements at `buffer`. None if the count is 0 or first touches are not recorded.
Memory memory_of(const void* buffer, std::int64_t count, MPI_Datatype type);

// Before MPI may use a buffer.
inline void lift_guards() {
    if (guarding()) detail::lift();
}
// MPI uses the buffers of this call from now on. Finds when the sent one was last written.
inline void begin_transfer(Called& called) {
    if (guarding()) detail::begin_transfer(called);
}
// The call that starts the transfer has returned.
inline void watch_sent(const Called& called) {
    if (guarding()) detail::watch_sent(called);
}
// The transfer is complete. Records the last write, and guards the buffer that was filled. `started`: when
// the call that started it returned; `inside`: nanoseconds in calls that complete a nonblocking one, the last
// of them at the site `completed_at`, which is 0 for a blocking one.
inline void end_transfer(const Called& called, std::uint64_t started, std::uint64_t inside,
                         std::uint32_t completed_at) {
    if (guarding()) detail::end_transfer(called, started, inside, completed_at);
}
// The call has failed, or another request has the same handle: MPI uses the buffers no longer.
void forget_transfer(const Called& called);
// Other ranks may access memory of this rank from now on.
void never_guard_again();

}  // namespace lapwing::profile
