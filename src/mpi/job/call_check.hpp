// Whether the calls of all ranks match: each call at once with LAPWING_CHECK=calls, and all calls by a sum at
// the end of the job.
#pragma once

#include "mpi/job/runtime.hpp"
#include "task/problem.hpp"
#include "watch/job_watch.hpp"
#include "watch/journal.hpp"

namespace lapwing {

// Rank 0 compares what the ranks report from now on. Before any call is reported; `watch` must outlive the
// job's calls.
void begin_call_check(watch::JobWatch& watch);

// Reports a call that the journal has recorded to rank 0. Does not wait. The lengths of blocks are compared
// only if the journal has them.
void report_call(const watch::CallId& call);

// Collective over the job, when this rank makes no more calls and no list of this rank is in flight. Rank 0
// prints the differences.
void compare_calls_at_end();

}  // namespace lapwing
