// Lapwing's progress inside the native MPI's: while the program is in any call of the MPI (a receive, a wait
// for something else, a file operation), the collectives in flight must go on, or a correct program could
// hang.
#pragma once

#include "mpi/native/count.hpp"

namespace lapwing {

// Whether the MPI calls others from its progress. Where it does not, a thread of Lapwing's does the progress,
// which takes MPI_THREAD_MULTIPLE.
bool offers_a_hook();

// After MPI_Init. From now on the MPI's progress calls `progress` inside Entry, as long as `in_flight` is not
// 0; it gives back how many collectives have completed. `threads`: the MPI has MPI_THREAD_MULTIPLE. False
// when there is no way in. `polls`: a thread looks every now and then, too, as far as `threads` lets it: the
// lists go by messages of the MPI while the program computes.
bool install_hook(int (*progress)(), const Count& in_flight, bool threads, bool polls);
// Before MPI_Finalize.
void remove_hook();

// After each start.
void collective_started();

// Called by the MPI while it waits or looks for messages.
void native_progress();

}  // namespace lapwing
