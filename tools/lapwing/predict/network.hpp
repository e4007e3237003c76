// The networks of `lapwing predict`, as --network names them.
#pragma once

#include <memory>
#include <string>

#include "simulate/network.hpp"

namespace lapwing::tool {

struct NetworkOptions {
    std::string shape = "flat";  // as it was written
    int ranks_per_host = 1;
    simulate::Time hop = 0;  // from link to link
};

// Null where each rank is on a host of its own and no link is shared. Throws Error (invalid_argument).
std::unique_ptr<simulate::Network> make_network(const NetworkOptions& options, int ranks);

}  // namespace lapwing::tool
