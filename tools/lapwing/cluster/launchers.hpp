// Sets up the launchers of the MPIs by files and variables: a plain `mpirun` then reaches the hosts.
#pragma once

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Writes host files and the remote shell into the cluster directory, and sets the variables of this process
// with which launchers find these files. Keeps variables that are already set. Throws Error (system).
void prepare_launchers(const ClusterShape& shape);

}  // namespace lapwing::tool
