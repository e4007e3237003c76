// What a profile says: for each place in a program that calls a collective, how long it takes, how much of
// that is waiting for ranks that come late, and how much overlap would save at most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lapwing/timeline/trace_parts.hpp"

namespace lapwing::tool {

// A place in a program.
struct CodeLocation {
    std::string module;
    std::uint64_t offset = 0;  // of the call in the module
    std::string symbol;        // the program's function; empty: unknown
    std::string file;          // of the source; empty: unknown
    int line = 0;

    std::string text() const;  // "transpose.c:83 (main)"
};

// Seconds are means over the ranks, of messages over those that make the call, summed over the calls.
struct CallSite {
    std::string function;  // of the MPI
    CodeLocation place;
    std::string completed_at;  // nonblocking: the place where it is completed
    bool nonblocking = false;
    int ranks = 0;            // of the communicator, 0: of several sizes; messages: that make the call
    std::uint64_t calls = 0;  // of one rank
    std::uint64_t min_bytes = 0;
    std::uint64_t max_bytes = 0;
    double start = 0;           // in the call; of a blocking one, all of it
    double wait = 0;            // nonblocking: in calls that complete it
    double away = 0;            // nonblocking: between these calls
    double late = 0;            // of start and wait: until the last rank that matters had begun
    double own = 0;             // of start and wait: what is left, the collective's own time
    double saved_at_once = 0;   // by an engine that runs it while the program is away, at most
    double saved_if_moved = 0;  // besides, if the program had as much to compute as it takes
};

struct Profile {
    int ranks = 0;
    double seconds = 0;           // from MPI_Init to MPI_Finalize, mean over the ranks
    double in_collectives = 0;    // of them
    std::uint64_t unmatched = 0;  // calls that not all ranks have recorded
    std::uint64_t dropped = 0;
    std::vector<int> without_end;  // ranks that did not come to MPI_Finalize
    double clock_error = 0;        // seconds
    std::vector<CallSite> sites;   // the largest saving first
    // Calls that send or receive messages, the longest in sum over the ranks first. Of such a call `own` has
    // all its time, with the time that it waits for its peer.
    std::vector<CallSite> messages;
};

Profile analyse(const std::vector<RankPart>& parts);

}  // namespace lapwing::tool
