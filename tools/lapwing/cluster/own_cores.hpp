// Restricts a host of a cluster to its own processors, and describes them to launchers.
#pragma once

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Writes, for each host with its own processors, a description of a machine with only these, for hwloc:
// launchers bind ranks by it. Affinity alone is not enough: hwloc numbers all processors of the machine.
void write_machine_files(const ClusterShape& shape);

// Called in a process of the host: restricts it to the host's processors and points hwloc to the file.
// Throws Error (system).
void take_processors(const ClusterHost& host);

}  // namespace lapwing::tool
