// The timeline of a traced job (base/trace.hpp), as far as the program's calls make it: calls, collectives,
// and the facts of ranks, clocks, groups and plans. Called where clocks are read only, so an untraced job
// pays nothing.
#pragma once

#include <cstdint>

#include "base/settings.hpp"
#include "base/trace.hpp"

namespace lapwing {
struct Request;
}

namespace lapwing::timeline {

// From MPI_Init, by all ranks of MPI_COMM_WORLD together, when they know where they are: begins to record if
// LAPWING_TRACE says so, and compares the clocks of the hosts. Throws Error when some rank cannot write: all
// throw then.
void begin(const Settings& settings);
// Before the end of MPI, by all: compares the clocks again.
void end();

// Inside Entry.
void starts(Request& request);                        // before its engine does
void started(Request& request);                       // the call that has started it returns
void completed(Request& request, std::uint64_t now);  // its last byte has arrived
std::uint32_t number(Request& request);               // of its collective, among this rank's
void called(trace::Call call, std::uint64_t began, std::uint64_t ended, std::uint32_t operation,
            std::size_t requests);

// This thread's call is the blocking form.
extern constinit thread_local bool blocks;

}  // namespace lapwing::timeline
