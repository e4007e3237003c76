// A drawing of a topology file: grids with the path through them.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "topology/host_order.hpp"

namespace lapwing::tool {

// Hosts in their order, with arrows; each grid plane by plane, with the place of each host in the order and
// the path's steps as arrows. In UTF-8, and as many columns wide as `width` if that can be.
std::string draw_network(const topology::HostOrder& order, std::size_t width);
nlohmann::ordered_json network_as_json(const topology::HostOrder& order);

}  // namespace lapwing::tool
