// The link between ranks that are threads of one process: runs lists without a launcher or a network.
#pragma once

#include "links/link.hpp"
#include "support/unit.hpp"

namespace lapwing {

// One link for each of `ranks` ranks; each may be used by one thread at a time. With `buffered` a send copies
// its bytes and completes at once; otherwise it completes when its receive has been posted. A message longer
// than its receive is an Error (link) at the receiver.
std::vector<std::unique_ptr<Link>> process_links(int ranks, bool buffered);

}  // namespace lapwing
