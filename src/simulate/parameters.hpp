// What a message costs: LogGP (Alexandrov et al. 1995) with the processor's time for each byte, as LogGOPSim
// has it (Hoefler, Schneider, Lumsdaine 2010).
//
// The processor works for `overhead`, then the sending interface is busy for `gap` and the bytes. The first
// byte is at the peer `latency` after the interface took the message; the receiving interface is busy for
// `gap` and the bytes; a wait takes the processor for `overhead`. So one message of s bytes between idle
// ranks takes 2*overhead + latency + s*per_byte, what the formulas of the catalogue count, too.
//
// An engine that runs on processors sends long messages by rendezvous: a request goes first, which the
// receiver's engine answers when it runs; then the sender's engine hands over the bytes, a window at a time,
// whenever it runs and the window before has left. Each of these takes an overhead. Other sends never wait
// for their receives.
//
// A link with a burst is a token bucket, as shapers of virtual hosts are: after a pause it passes so many
// bytes at once.
#pragma once

#include <cstdint>

#include "collectives/algorithm.hpp"
#include "simulate/time.hpp"

namespace lapwing::simulate {

enum class Rules : std::uint8_t {
    lapwing,  // as above
    // A message of s bytes has s - 1 of them after the first. A send begins when its interface is free, too.
    // The bytes keep the receiving processor busy. For comparison with LogGOPSim.
    loggopsim
};

struct Parameters {
    Rules rules = Rules::lapwing;
    Time latency = 0;
    Time overhead = 0;                            // of a send, and of a wait for each message
    Time gap = 0;                                 // of an interface, for each message
    double per_byte = 0;                          // picoseconds; of an interface
    double overhead_per_byte = 0;                 // picoseconds; of the processor
    std::uint64_t rendezvous_bytes = UINT64_MAX;  // messages from so many bytes on go by rendezvous
    std::uint64_t window_bytes = UINT64_MAX;      // that the sockets take at once
    std::uint64_t burst_bytes = 0;
    // Between ranks of one host.
    Time near_latency = 0;
    Time near_overhead = 0;
    double near_per_byte = 0;  // picoseconds
    // Local work.
    Time copy = 0;
    double copy_per_byte = 0;  // picoseconds; of reductions, too

    bool operator==(const Parameters&) const = default;
};

// Of the cost model's constants, which have no gap.
Parameters parameters_of(const Machine& machine);

// Throws Error (invalid_argument) for a value that is negative or too large, or a latency of less than a
// nanosecond: events must lie after their causes.
void check(const Parameters& parameters);

}  // namespace lapwing::simulate
