// Addresses and ports in the form in which `lapwing doctor` passes them to the next launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tool {

// "4/24/0a4d0001": family, prefix, address.
std::string write_place(const tcp::IpAddress& place);
// Family 0 for anything else.
tcp::IpAddress read_place(const std::string& text);
// "10.77.0.0/24"
std::string network_of(const tcp::IpAddress& place);

// Returns free ports, spread over the range from which the system chooses ports for Lapwing's connections:
// a firewall may admit only a part of the range. Throws Error (system).
std::vector<std::uint16_t> free_ports(const tcp::Options& options);
// "32768-60999"; empty if unknown.
std::string port_range();

}  // namespace lapwing::tool
