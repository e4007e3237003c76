// Lapwing's progress inside the native MPI's progress. Collectives in flight must progress while the program
// is in any call of the MPI (a receive, a wait, a file operation); otherwise a correct program could hang.
#pragma once

#include "mpi/native/entry.hpp"

namespace lapwing {

// Whether the MPI's progress calls callbacks. If not, a thread of Lapwing does the progress, which requires
// MPI_THREAD_MULTIPLE.
bool offers_a_hook();

// After MPI_Init. From now on the MPI's progress calls `progress` inside Entry while `in_flight` is not 0;
// `progress` returns how many collectives have completed. `threads`: the MPI provides MPI_THREAD_MULTIPLE.
// `polls`: a thread polls as well, if `threads` allows it, because messages of the MPI need progress while
// the program computes. Returns false if nothing can call `progress`.
bool install_hook(int (*progress)(), const Count& in_flight, bool threads, bool polls);
// Before MPI_Finalize.
void remove_hook();

// After each start.
void collective_started();

// The MPI calls this while it waits or polls.
void native_progress();

}  // namespace lapwing
