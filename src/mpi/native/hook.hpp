// Lapwing's progress inside the MPI's own: while the program is in any call of the MPI (a receive, a wait for
// something else, a file operation), the collectives in flight must go on, or a correct program could hang.
#pragma once

namespace lapwing {

// Whether the MPI calls others from its progress. Where it does not, a thread of Lapwing's looks after the
// lists, which takes MPI_THREAD_MULTIPLE.
bool offers_a_hook();

// After MPI_Init. False when there is no way in.
bool install_hook();
// Before MPI_Finalize.
void remove_hook();

// After each start.
void collective_started();

// Called by the MPI while it waits or looks for messages.
void native_progress();

}  // namespace lapwing
