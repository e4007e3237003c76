// A recorded program as scripts: what each rank computes, starts and waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recording/recording.hpp"
#include "simulate/program.hpp"
#include "simulate/recorded/calls.hpp"

namespace lapwing::simulate {

// How long a rank computes between two calls.
enum class Computation : std::uint8_t {
    processor,  // the processor's time: without sleep, and without what other processes took
    wall        // all of the time
};

// A place in the program that calls a function of MPI.
struct ReplaySite {
    recording::Site of;
    // Of all ranks together, as measured.
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  // sent
    Time inside = 0;
};

struct Replay {
    int ranks = 0;
    Scripts scripts;
    std::vector<ReplayOperation> operations;
    std::vector<ReplaySite> sites;  // by Action::site; the first one is the time outside of all calls
    // As measured, by rank: from the end of MPI_Init to the begin of MPI_Finalize, and in MPI.
    std::vector<Time> ends;
    std::vector<Time> inside;
    // Of the time between calls: on a processor, and not, because the rank slept or others had the
    // processors.
    std::vector<Time> on_processor;
    std::vector<Time> off_processor;
    std::vector<std::string> hosts;  // by rank
    std::vector<std::string> notes;  // what is not as recorded
};

// Throws Error (invalid_argument) for a recording that is not whole. The passes of a loop compute for the
// recorded times in turn.
Replay make_replay(const recording::Recording& recording, Computation computation);

// Returns the same calls, without computation between them.
Scripts without_computation(const Scripts& scripts);

// Returns the same calls, but collectives are waited for after the computation that follows the recorded
// wait, as if that computation did not need their data. A wait that ends a loop's body stays where it is.
Scripts with_later_waits(const Replay& replay);

}  // namespace lapwing::simulate
