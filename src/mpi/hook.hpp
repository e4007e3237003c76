// Lapwing's progress inside the MPI's own: while the program is in any call of the MPI (a receive, a wait for
// something else, a file operation), the collectives in flight must go on, or a correct program could hang.
#pragma once

namespace lapwing {

// After MPI_Init. False when this MPI offers no way in.
bool install_hook();
// Before MPI_Finalize.
void remove_hook();

// Called by the MPI while it waits or looks for messages.
void native_progress();

}  // namespace lapwing
