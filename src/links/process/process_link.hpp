// The link between ranks that are threads of one process: for running lists without a launcher or a network.
#pragma once

#include <memory>
#include <vector>

#include "links/link.hpp"

namespace lapwing {

// One link for each of `ranks` ranks; rank r belongs to one thread at a time. With `buffered` a send
// completes at once, its bytes copied; without, only when its receive has been posted. A message longer than
// the receive it meets is an Error (link) at the receiver.
std::vector<std::unique_ptr<Link>> process_links(int ranks, bool buffered);

}  // namespace lapwing
