// Round trip, rate and clocks over one connection between two agents.
#pragma once

#include <chrono>
#include <optional>

namespace lapwing::tool {

struct Measured {
    double round_trip_us = 0;  // median, of 8 bytes
    double sends_mbit_per_s = 0;
    double receives_mbit_per_s = 0;
    double clock_us = 0;  // the other host's clock minus the own one
    double clock_error_us = 0;
};

// Called by the agent that connected; the other agent serves. `last`: no further connection will be measured.
// Returns nothing if the connection broke or took too long.
std::optional<Measured> measure_over(int socket, bool last);
// Returns whether the connection was the last one.
bool serve_measurement(int socket, std::chrono::steady_clock::time_point end);

// Returns whether a descriptor had one of the events of poll() before `end`.
bool wait_for(int descriptor, short events, std::chrono::steady_clock::time_point end);

}  // namespace lapwing::tool
