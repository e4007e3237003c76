// The launchers of the MPIs, set up by files and variables so that a plain `mpirun` reaches the hosts.
#pragma once

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Writes host files and the remote shell into the cluster directory, and sets the variables of this process
// that lead launchers to them. Variables that are set already stay. Throws Error (system).
void prepare_launchers(const ClusterShape& shape);

}  // namespace lapwing::tool
