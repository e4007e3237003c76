// Records calls, collectives, groups and plans in the timeline of a traced job (base/trace.hpp). Called only
// where clocks are read, so an untraced job pays nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/trace.hpp"

namespace lapwing {
struct Request;
}

namespace lapwing::timeline {

// Inside Entry.
void starts(Request& request);                        // before the engine starts
void started(Request& request, bool blocking);        // the starting call returns
void completed(Request& request, std::uint64_t now);  // the last byte has arrived
std::uint32_t number(Request& request);               // of the collective among those of this rank

}  // namespace lapwing::timeline
