// Connections between ranks that are threads of one process, as socket pairs: runs the kernel engine without
// a network.
#pragma once

#include <memory>
#include <vector>

#include "links/connections.hpp"

namespace lapwing {

// Connections for each of `ranks` ranks, which share one event loop. `buffer_bytes`: size of the sockets'
// buffers, which the system may round up; 0: the default.
std::vector<std::unique_ptr<Connections>> socket_pairs(int ranks, int lanes, int buffer_bytes = 0);

}  // namespace lapwing
