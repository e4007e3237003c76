// The timeline of a traced job (base/trace.hpp), as far as requests make it: calls, collectives, and the
// facts of groups and plans. Called where clocks are read only, so an untraced job pays nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/trace.hpp"

namespace lapwing {
struct Request;
}

namespace lapwing::timeline {

// Inside Entry.
void starts(Request& request);                        // before its engine does
void started(Request& request, bool blocking);        // the call that has started it returns
void completed(Request& request, std::uint64_t now);  // its last byte has arrived
std::uint32_t number(Request& request);               // of its collective, among this rank's
void called(trace::Call call, std::uint64_t began, std::uint64_t ended, std::uint32_t operation,
            std::size_t requests);

}  // namespace lapwing::timeline
