// Connections between ranks that are threads of one process, as socket pairs: for running the kernel engine
// without a network.
#pragma once

#include <memory>
#include <vector>

#include "links/connections.hpp"

namespace lapwing {

// One for each of `ranks` ranks. With `buffer_bytes` the sockets hold about as much as that (the system has a
// least), else what is usual. All of them share one event loop.
std::vector<std::unique_ptr<Connections>> socket_pairs(int ranks, int lanes, int buffer_bytes = 0);

}  // namespace lapwing
