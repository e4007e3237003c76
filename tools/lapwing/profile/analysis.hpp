// What a profile says: for each place in a program that calls a collective, how long it takes, how much of
// that is waiting for ranks that come late, and how much overlap would save at most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lapwing/timeline/trace_parts.hpp"

namespace lapwing::tool {

// Seconds are means over the ranks, summed over the calls.
struct CallSite {
    std::string function;  // of the MPI
    std::string module;
    std::uint64_t offset = 0;  // of the call in the module
    std::string symbol;        // the program's function; empty: unknown
    std::string file;          // of the source; empty: unknown
    int line = 0;
    std::string completed_at;  // nonblocking: where it is completed, as place() says it
    bool nonblocking = false;
    int ranks = 0;            // of the communicator; 0: of several sizes
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

    // With --first-touch: buffers that were guarded, of all ranks; the mean time until the program used one
    // of them, or called MPI again; what a later wait saves at most, which is bounded by these times.
    std::uint64_t guarded = 0;
    double until_touch = 0;
    double saved_by_later_wait = 0;
    // The same for what is sent: sent buffers whose last write is known; the mean time since then, which lies
    // between two bounds; what an earlier start saves at most, bounded by the larger one.
    std::uint64_t watched = 0;
    double unwritten_at_least = 0;
    double unwritten_at_most = 0;
    double saved_by_earlier_start = 0;
    // What both save together at most. A call whose buffers are not known saves all of its own time.
    double saved_within_data = 0;

    std::string place() const;  // "transpose.c:83 (main)"
};

struct Profile {
    int ranks = 0;
    std::string mpi;
    double seconds = 0;           // from MPI_Init to MPI_Finalize, mean over the ranks
    double in_collectives = 0;    // of them
    std::uint64_t unmatched = 0;  // calls that not all ranks have recorded
    std::uint64_t dropped = 0;
    std::vector<int> without_end;                          // ranks that did not come to MPI_Finalize
    double clock_error = 0;                                // seconds
    bool first_touch = false;                              // first touches were recorded
    std::map<std::string, std::uint64_t> refused_guards;   // by reason, of all ranks
    std::map<std::string, std::uint64_t> refused_watches;  // the same of sent buffers
    std::vector<CallSite> sites;                           // the largest saving first
    // With --first-touch: calls that send or receive messages, the longest first. Of such a call `own` has
    // all its time: nothing tells apart what it waits for its peer.
    std::vector<CallSite> messages;
};

Profile analyse(const std::vector<RankPart>& parts);

}  // namespace lapwing::tool
