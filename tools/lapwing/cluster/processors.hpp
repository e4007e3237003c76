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
// As hwloc describes this machine. Throws Error (system).
Machine load_machine();

// How many processors this process may use.
int usable_processors();

// Of these, as many for each host as for the others: whole cores where there are enough, else single
// processors of cores with several. Empty when there are fewer than hosts.
std::vector<std::vector<int>> divide_processors(int hosts);

}  // namespace lapwing::tool
