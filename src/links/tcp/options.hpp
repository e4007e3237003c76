// Options of the connections of a job.
#pragma once

#include <chrono>
#include <string>

namespace lapwing::tcp {

struct Options {
    // Interfaces to use: names (eth0), addresses (10.0.0.3) or networks (10.0.0.0/24), separated by commas,
    // tried in this order; empty: all that are up, loopback only for intra-node peers.
    std::string interfaces;
    std::string family = "auto";        // auto, ipv4, ipv6
    std::chrono::seconds patience{10};  // LAPWING_TIMEOUT: a peer is lost after so long a silence
    std::chrono::seconds handshake{
        5};                // a connection that does not prove itself within this time is turned away
    int buffer_bytes = 0;  // of each socket, each direction; 0: the system's choice
    // Bytes of a socket's buffer that may wait for the network before the socket is full; 0: no bound.
    int unsent_bytes = 0;
};

// Throws Error (invalid_argument) that names the variable with an invalid value.
void check(const Options& options);

}  // namespace lapwing::tcp
