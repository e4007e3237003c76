// The beginning and the end of a traced job (base/trace.hpp).
#pragma once

#include "base/settings.hpp"

namespace lapwing {

class Job;
class RankLocations;

// From MPI_Init, by all ranks of MPI_COMM_WORLD together, whose locations are known: begins to record if
// LAPWING_TRACE asks for it, and compares the clocks of the hosts. Throws Error when some rank cannot write:
// all throw then.
void begin_tracing(Job& job, const RankLocations& locations);
// Before the end of MPI, by all: compares the clocks again.
void end_tracing(const RankLocations& locations);

}  // namespace lapwing
