// The start of a job (settings, their comparison between ranks, the network, the trace), and its end.
#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "watch/ranks.hpp"

namespace lapwing {

// Ends the job, whose start has failed on this rank, with this message.
[[noreturn]] void end_start(const std::string& why);

// The settings of this rank, and what `runtime` has of them. Throws Error.
Settings read_job_settings();
// By all ranks of MPI_COMM_WORLD, whose hooks are installed: they compare their settings, and learn what the
// others can do. Throws Error.
std::vector<watch::Member> meet_ranks(const Settings& settings);
// By the same ranks: makes the network and the watch. Throws Error.
void connect_job(std::vector<watch::Member> members);

// Before MPI_Finalize, by all ranks of MPI_COMM_WORLD: sums their counts up. Rank 0 writes the report that
// was asked for, with its own uses, and fills the mark.
void report_job();

// Before MPI_Finalize, by all ranks: compares the clocks of the hosts again, and ends the trace.
void end_tracing();

}  // namespace lapwing
