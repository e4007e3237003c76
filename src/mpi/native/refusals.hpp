// Arguments of a collective that the native MPI refuses, whatever the other ranks pass. Such a call is left
// to the MPI, so that the program sees its message. A call that the MPI accepts must not be left to it on
// this rank alone, because the other ranks would wait. Where a call without data can show what the MPI
// refuses, Lapwing makes that call.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "task/problem.hpp"

namespace lapwing {

// Whether the type is derived and has not been committed.
bool is_uncommitted(MPI_Datatype type);

// Whether a predefined operator does not apply to the type.
bool is_unfit(MPI_Op op, MPI_Datatype type);

// Whether the address is no valid buffer where MPI_IN_PLACE has no meaning. MPICH checks for null pointers;
// Open MPI crashes.
bool is_no_buffer(const void* buffer, bool has_elements, MPI_Datatype type);
// False if is_no_buffer() is false for any elements.
inline bool may_be_no_buffer(const void* buffer) {
    return buffer == nullptr || buffer == MPI_IN_PLACE;
}

// Whether the MPI refuses a reduction of `count` elements whose buffers have the same address.
bool is_aliased(Collective collective, const void* sent, const void* received, std::uint64_t count);

// The same for the rank's own block in collectives without a reduction.
bool is_aliased(const void* sent, const void* received);

// The MPI's error code when `call` gets a complete request of a nonblocking collective.
int answer_for_collective(int (*call)(MPI_Request*));

#ifdef OPEN_MPI
// Open MPI does not check the receive types of gather and scatter.
inline constexpr bool checks_gathered_types = false;
inline constexpr bool refuses_to_free_active = true;
#else
inline constexpr bool checks_gathered_types = true;
inline constexpr bool refuses_to_free_active = false;
#endif

}  // namespace lapwing
