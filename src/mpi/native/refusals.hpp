// What the native MPI refuses in a collective's arguments, whatever the other ranks pass. Such a call is left
// to it, so that the program sees its message. What it does not refuse must not be left to it on this rank
// alone, or the others wait: so it is asked, where it can be asked by a call that moves nothing.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "task/problem.hpp"

namespace lapwing {

// A type that is not predefined and has not been committed.
bool is_uncommitted(MPI_Datatype type);

// A predefined operator that is not for elements of this type.
bool is_unfit(MPI_Op op, MPI_Datatype type);

// A buffer for elements, if there are any, where MPI_IN_PLACE has no meaning. Where MPICH looks for null
// pointers, Open MPI crashes.
bool is_no_buffer(const void* buffer, bool has_elements, MPI_Datatype type);
// It need not be asked otherwise.
inline bool may_be_no_buffer(const void* buffer) {
    return buffer == nullptr || buffer == MPI_IN_PLACE;
}

// A reduction of so many elements from and to the same address.
bool is_aliased(Collective collective, const void* sent, const void* received, std::uint64_t count);

// The same in collectives without a reduction: the rank's own block.
bool is_aliased(const void* sent, const void* received);

// What the MPI says when this is called for a request of a nonblocking collective that is complete.
int answer_for_collective(int (*call)(MPI_Request*));

#ifdef OPEN_MPI
// Open MPI does not look at the types of what gathers and scatters receive.
inline constexpr bool checks_gathered_types = false;
#else
inline constexpr bool checks_gathered_types = true;
#endif

}  // namespace lapwing
