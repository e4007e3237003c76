// Options of the connections of a job.
#pragma once

#include <chrono>
#include <string>

#include "base/settings.hpp"

namespace lapwing::tcp {

struct Options {
    // Interfaces to use: names (eth0), addresses (10.0.0.3) or networks (10.0.0.0/24), separated by commas,
    // tried in this order; empty: all that are up, loopback only for intra-node peers.
    std::string interfaces;
    std::string family = "auto";         // auto, ipv4, ipv6
    std::chrono::seconds patience{600};  // LAPWING_TIMEOUT: a peer is lost after so long a silence
    std::chrono::seconds refusal{10};    // a host that refuses connections for so long has lost its process
    std::chrono::seconds handshake{5};   // a connection that does not prove itself in time is turned away
    int buffer_bytes = 0;                // of each socket, each direction; 0: the system's choice
    // Bytes that may wait in a socket until the network takes them; 0: no bound. A bound shortens the start
    // of a collective, because the kernel copies the rest of a message while the program computes. With
    // buffers of 128 KiB, 32 KiB left the program more of the processor than no bound did
    // (docs/results/amd-epyc/buffers.txt).
    int unsent_bytes = 32768;
};

// Throws Error (invalid_argument) if the text of an option, LAPWING_TCP_*, is invalid.
void check(const Options& options);

// The variables LAPWING_TCP_* and LAPWING_TIMEOUT. Throws Error (invalid_argument).
Options read_options(const Settings& settings);

}  // namespace lapwing::tcp
