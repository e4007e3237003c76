// The processors of this machine, as the hosts of a cluster divide them.
#pragma once

#include <memory>
#include <vector>

struct hwloc_topology;

namespace lapwing::tool {

struct FreeMachine {
    void operator()(hwloc_topology* machine) const;
};
using Machine = std::unique_ptr<hwloc_topology, FreeMachine>;
// The processors in hwloc's description of this machine. Throws Error (system).
Machine load_machine();

// How many processors this process may use.
int usable_processors();

// An equal number of processors for each host: whole cores if there are enough, otherwise single processors
// of cores with several. Empty if there are fewer processors than hosts.
std::vector<std::vector<int>> divide_processors(int hosts);

}  // namespace lapwing::tool
