// How a host of a cluster keeps to processors of its own, and how launchers on it learn of them.
#pragma once

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// For each host with processors of its own, a description of the machine as if it had no others, for hwloc:
// launchers bind ranks by it. Affinity alone does not reach them: hwloc numbers all processors of the
// machine.
void write_machine_files(const ClusterShape& shape);

// In a process that is to run on the host: restricts it to the host's processors, and shows it that file.
// Throws Error (system).
void take_processors(const ClusterHost& host);

}  // namespace lapwing::tool
