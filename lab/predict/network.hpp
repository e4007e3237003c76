// The networks of `lapwing predict`, as --interconnect names them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulate/network.hpp"

namespace lapwing::tool {

struct NetworkOptions {
    std::string shape = "flat";  // as it was written
    int ranks_per_host = 1;
    simulate::Time hop = 0;  // from link to link
    bool random_places = false;
    std::uint64_t seed = 1;  // of the places
};

// The host of each rank.
std::vector<std::int32_t> places_of(const NetworkOptions& options, int ranks);
// Where each of so many hosts stands in the order of a topology file: along a path through a torus or a mesh.
std::vector<std::int32_t> order_of_hosts(const NetworkOptions& options, int hosts);

// Null where each rank is on a host of its own and no link is shared. Throws Error (invalid_argument).
std::unique_ptr<simulate::Network> make_network(const NetworkOptions& options, int ranks);

}  // namespace lapwing::tool
