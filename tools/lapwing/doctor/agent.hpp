// What `lapwing doctor` runs on the hosts of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "links/tcp/options.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tool {

// Every rank reports its settings. The first rank of each host also reports the facts of each check.
int survey_host(const std::string& run, const std::string& family, int seconds);
// The first rank of each host tries to reach the other hosts. Their task is in reach_variable. Reports
//   {"self": 0, "tried": [1, 2], "reached": [1], "taken": [47000], "failures": [{"to": 2, "address":
//    "10.77.0.3/24", "port": 33000, "why": "no answer within 2 s", "elsewhere": "port"}]}
// "taken": own ports that other programs have by now.
// "elsewhere": that host answers at another "port" of the address, at another "address" only, or not ("").
// Returns when all others have reached this host.
int reach_hosts(const std::string& run, int seconds);
// Returns no socket if another rank of the host was first.
tcp::Socket be_first_of_host(const std::string& run);

// The variable with the task of the agents, JSON:
//   {"run": random number, "late": maximum delay between the starts of two agents in ms,
//    "members": [{"host": its number, "name": "node1", "ports": [33000], "addresses": ["10.77.0.1/24"]}]}
inline constexpr const char* reach_variable = "DOCTOR_OF_LAPWING";  // LAPWING_* are settings

// Returns free ports, spread over the range from which the system chooses ports for Lapwing's connections:
// a firewall may admit only a part of the range. Throws Error (system).
std::vector<std::uint16_t> free_ports(const tcp::Options& options);
// "32768-60999"
std::string port_range();

}  // namespace lapwing::tool
