// Addresses and ports as `lapwing doctor` passes them from launch to launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tool {

// "4/24/0a4d0001": family, prefix, address.
std::string write_place(const tcp::Address::Place& place);
// Family 0 for anything else.
tcp::Address::Place read_place(const std::string& text);
// "10.77.0.0/24"
std::string network_of(const tcp::Address::Place& place);

// Some ports that are free now, spread over those that the system chooses from, as it does for Lapwing's
// connections: a firewall may let some of them pass. Throws Error (system).
std::vector<std::uint16_t> free_ports(const tcp::Options& options);
// "32768-60999"; empty: not told.
std::string port_range();

}  // namespace lapwing::tool
