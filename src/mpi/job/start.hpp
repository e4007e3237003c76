// The start of a job (settings, their comparison between ranks, the network, the trace), and its end.
#pragma once

#include <string>

namespace lapwing {

// Ends the job, whose start has failed on this rank, with this message.
[[noreturn]] void end_start(const std::string& why);

// Reads the settings into `runtime`. `collective`: all ranks of MPI_COMM_WORLD call it together (from
// MPI_Init), so that they can compare their settings. Throws Error.
void start_job(bool collective);
// By all ranks of MPI_COMM_WORLD: makes the network and the watch. It is known by now whether lists may call
// the MPI. Throws Error.
void connect_job();

// Before MPI_Finalize, by all ranks of MPI_COMM_WORLD: sums their counts up. Rank 0 writes the report that
// was asked for, with its own uses, and fills the mark.
void report_job();

// Before MPI_Finalize, by all ranks: compares the clocks of the hosts again, and ends the trace.
void end_tracing();

}  // namespace lapwing
