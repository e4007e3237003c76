// The start of a collective: from the program's problem to a request that runs, or to a persistent request,
// which MPI_Start starts again and again.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "mpi/requests/user_buffers.hpp"

namespace lapwing {

struct Communicator;
struct Request;
class RecordedCall;

// Without a request and an error, the native MPI must run the call.
struct Started {
    Request* request = nullptr;
    int error = MPI_SUCCESS;
};

// Whether the problem's bytes can be counted at all. The MPI refuses calls that do not fit.
inline bool fits(const Problem& problem) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;
    // Avoids the division, which takes longer than the rest: no number of ranks is too large here.
    if (problem.bytes < std::uint64_t{1} << 31) return true;
    return problem.bytes <= max_bytes / static_cast<std::uint64_t>(problem.ranks);
}

// Starts and records a nonblocking or a blocking call. Never waits for another rank. Outside of Entry.
Started start(Communicator& group, Problem& problem, const UserBuffers& buffers, const RecordedCall& call);

// Starts a persistent request. Returns the MPI's error code. Inside Entry.
int start_again(Request& request);

// Makes an inactive persistent request. Collective: waits for the other ranks. Outside of Entry.
Started make_persistent(Communicator& group, Problem& problem, const UserBuffers& buffers,
                        const RecordedCall& call);

// Waits for the agreement that begin_group() began, if it began one; at most `patience` nanoseconds. Runs
// what is in flight meanwhile. Returns whether the agreement is complete. Only in calls that are collective
// over the group. Outside of Entry.
bool finish_group(Communicator& group, std::uint64_t patience = UINT64_MAX);

// Where lists must advance without the MPI (ProgressMode::lists_call_mpi is false), the ranks agree when the
// communicator is made: later the program may wait in the MPI for what needs the first list, and so the
// agreement, which only calls of the MPI complete. In a call that is collective over the communicator and may
// wait for other ranks. Does nothing elsewhere, or if they have agreed. Returns the MPI's error code.
int agree_early(MPI_Comm communicator);

}  // namespace lapwing
