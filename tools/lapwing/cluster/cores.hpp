// Which processors of this machine the hosts of a cluster have, and how launchers on a host learn of them.
#pragma once

#include <string>
#include <vector>

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Of the processors that this process may use, as many for each host as for the others: whole cores where
// there are enough, else single processors of cores with several. Empty when there are fewer than hosts.
std::vector<std::vector<int>> divide_processors(int hosts);

// The processors that this process may use.
int usable_processors();

// For each host with processors of its own, a description of the machine as if it had no others, for hwloc:
// launchers bind ranks by it. Affinity alone does not reach them: hwloc numbers all processors of the
// machine.
void write_machine_files(const ClusterShape& shape);

// In a process that is to run on the host: restricts it to the host's processors, and shows it that file.
// Throws Error (system).
void take_processors(const ClusterHost& host);

}  // namespace lapwing::tool
