// What a message costs an engine, by Netgauge's method (Hoefler, Lichei, Rehm 2007, "Low-overhead LogGP
// parameter assessment for modern interconnection networks"). PRTT(n, d, s) is the time of n messages of s
// bytes, d apart, and one answer; here each is a broadcast between two ranks, a list of one message.
#pragma once

#include <mpi.h>

#include <nlohmann/json.hpp>

namespace lapwing::tune {

// {"latency", "task", "gap", "per_byte", "task_per_byte"} in seconds, at both ranks of the communicator,
// whose engine it measures.
nlohmann::json netgauge(MPI_Comm two);

}  // namespace lapwing::tune
