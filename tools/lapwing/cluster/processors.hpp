// The processors of this machine, as the hosts of a cluster divide them.
#pragma once

#include <vector>

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// How many processors this process may use.
int usable_processors();

// An equal number of processors for each host: whole cores if there are enough, otherwise single processors
// of cores with several. Empty if there are fewer processors than hosts.
std::vector<std::vector<int>> divide_processors(int hosts);

// Writes, for each host with its own processors, a description of a machine with only these, for hwloc:
// launchers bind ranks by it. Affinity alone is not enough: hwloc numbers all processors of the machine.
void write_machine_files(const ClusterShape& shape);

// Called in a process of the host: restricts it to the host's processors and points hwloc to the file.
// Throws Error (system).
void take_processors(const ClusterHost& host);

}  // namespace lapwing::tool
