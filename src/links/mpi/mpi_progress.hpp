// Progress of the native MPI's messages, all of them: those of the program and Lapwing's.
#pragma once

namespace lapwing {

// Advances what the native MPI has in flight, once. Errors belong to the calls that wait for the messages.
void progress_mpi();
// Before MPI_Finalize, which may wait for the request that progress_mpi() tests.
void end_mpi_progress();

}  // namespace lapwing
