// First touches, for `lapwing profile --first-touch`: the guards of mpi/first_touch/, if that library is
// loaded.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing::profile {

struct Called;

namespace detail {
extern std::atomic<bool> guards_buffers;
void lift();
}  // namespace detail

// Whether first touches are recorded.
inline bool guarding() {
    return detail::guards_buffers.load(std::memory_order_relaxed);
}

// After MPI_Init: looks for the library.
void begin_guarding();
// Before MPI_Finalize: writes what was refused.
void end_guarding();

// Before MPI may use a buffer.
inline void lift_guards() {
    if (guarding()) detail::lift();
}
// The collective is complete: guards its buffer.
void guard_buffer(const Called& called);
// Other ranks may access memory of this rank from now on.
void never_guard_again();

}  // namespace lapwing::profile
