// The variables that say how a job's connections are made and used.
#pragma once

#include <vector>

#include "base/settings.hpp"
#include "engines/engine.hpp"
#include "links/tcp.hpp"

namespace lapwing {

struct NetworkSettings {
    tcp::Options tcp;
    int lanes = 1;                       // connections between two ranks of a group
    Ground wishes;                       // without links: how engines shall use them
    std::vector<int> helper_processors;  // of the attendant; empty: any
};

// Throws Error (invalid_argument) that names the variable and its form.
NetworkSettings read_network_settings(const Settings& settings);

}  // namespace lapwing
