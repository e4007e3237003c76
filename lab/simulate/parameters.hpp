// The cost of messages: LogGP (Alexandrov et al. 1995) with processor time for each byte (LogGOPS, Hoefler,
// Schneider, Lumsdaine 2010).
//
// The processor works for `overhead`, then the sending interface is busy for `gap` and the bytes. The first
// byte arrives at the peer `latency` after the interface took the message; the receiving interface is busy
// for `gap` and the bytes; a wait takes the processor for `overhead`. One message of s bytes between idle
// ranks therefore takes 2*overhead + latency + s*per_byte, as in the formulas of the catalogue.
//
// An engine that runs on processors sends long messages by rendezvous. It sends a request, which the
// receiver's engine answers when it runs. Then the sender's engine sends the bytes, one window at a time,
// whenever it runs and the previous window has left. Each of these steps takes an overhead. A message that is
// whole in its request is there with the answer. Other sends never wait for their receives.
#pragma once

#include <cstdint>

#include "collectives/algorithm.hpp"
#include "simulate/time.hpp"

namespace lapwing::simulate {

struct Parameters {
    Time latency = 0;
    Time overhead = 0;                            // of a send, and of a wait for each message
    Time gap = 0;                                 // of an interface, for each message
    double per_byte = 0;                          // picoseconds; of an interface
    double overhead_per_byte = 0;                 // picoseconds; of the processor
    std::uint64_t rendezvous_bytes = UINT64_MAX;  // the shortest message that uses rendezvous
    std::uint64_t window_bytes = UINT64_MAX;      // that sockets accept at once
    // Between ranks of one host.
    Time near_latency = 0;
    Time near_overhead = 0;
    double near_per_byte = 0;  // picoseconds
    // Local work.
    Time copy = 0;
    double copy_per_byte = 0;  // picoseconds; of reductions, too

    bool operator==(const Parameters&) const = default;
};

// Converts the constants of the cost model, which have no gap.
Parameters parameters_of(const Machine& machine);

constexpr Time max_time = 1'000'000'000'000;  // one second
constexpr double max_per_byte = 1e6;          // picoseconds

// Throws Error (invalid_argument) if a value is negative or exceeds max_time or max_per_byte, or if the
// latency is less than a nanosecond, because events must be later than their causes.
void check(const Parameters& parameters);

}  // namespace lapwing::simulate
