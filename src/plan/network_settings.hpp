// The variables that say how a job's connections are made and used.
#pragma once

#include <vector>

#include "base/settings.hpp"
#include "engines/engine.hpp"
#include "links/shm.hpp"
#include "links/tcp.hpp"

namespace lapwing {

struct NetworkSettings {
    tcp::Options tcp;
    bool shared_memory = true;               // between ranks of one host
    std::uint64_t most_bytes_by_memory = 0;  // inside a host, of lists that span several
    shm::TransferMethod transfer = shm::TransferMethod::automatic;
    int lanes = 1;                       // connections between two ranks of a group
    Ground wishes;                       // without links: how engines shall use them
    bool helper = false;                 // a thread beside the program
    std::vector<int> helper_processors;  // that it, and the attendant, may use; empty: any
};

// Throws Error (invalid_argument) that names the variable and its form.
NetworkSettings read_network_settings(const Settings& settings);

}  // namespace lapwing
