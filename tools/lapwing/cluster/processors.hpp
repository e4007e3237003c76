// The processors of this machine, as the hosts of a cluster divide them.
#pragma once

#include <hwloc.h>

#include <memory>
#include <vector>

namespace lapwing::tool {

// This machine in hwloc's description. Throws Error (system).
using Machine = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
Machine load_machine();

// How many processors this process may use.
int usable_processors();

// An equal number of processors for each host: whole cores if there are enough, otherwise single processors
// of cores with several. Empty if there are fewer processors than hosts.
std::vector<std::vector<int>> divide_processors(int hosts);

}  // namespace lapwing::tool
