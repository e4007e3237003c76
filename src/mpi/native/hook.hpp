// Lapwing's progress inside the native MPI's progress. Collectives in flight must progress while the program
// is in any call of the MPI (a receive, a wait, a file operation); otherwise a correct program could hang.
#pragma once

#include "mpi/native/progress_mode.hpp"

namespace lapwing {

// Whether the MPI's progress calls callbacks. If not, Lapwing's thread advances the lists.
bool offers_a_hook();

// After MPI_Init. From now on lists advance by `progress`, which returns how many collectives have completed,
// whenever the MPI makes progress while lists are in flight. `threads`: the MPI provides MPI_THREAD_MULTIPLE.
// Hook::polling without it: `progress` must not call the MPI.
Hook install_hook(int (*progress)(), bool threads);
// Before MPI_Finalize.
void remove_hook();

// Open MPI polls its sockets every 10 ms until this rank has a connection: a peer that wants one waits for so
// long. From poll_sockets(true) to poll_sockets(false), each step of the MPI's progress polls them.
void poll_sockets(bool always);

// In MPI_Finalize: completes what MPICH over UCX has sent; false with any other MPI. Then all ranks must wait
// for each other inside the MPI. MPICH 4.0 closes each connection there, for which UCX over TCP waits until
// the peer has answered its last messages; a peer that has closed its own waits without progress, and never
// answers. So nothing is closed after this call.
bool flush_native();

// Advances the lists, unless another call does so at the moment. Returns how many collectives have completed.
int try_progress();

}  // namespace lapwing
