// Whether this machine lets io_uring run chains.
#pragma once

#include <liburing.h>

#include "base/verdict.hpp"

namespace lapwing::kernel {

// Tries a ring, the operations, a chain over a socket pair and a cancellation, once per process. The reason
// names what is refused and what to do.
Verdict probe();

// Whether operations of `ring` can set options of TCP sockets, as in Linux 6.7 and later. The ring must be
// empty.
bool sets_socket_options(io_uring& ring);
// Tries that with a ring of its own, once per process.
bool sets_socket_options();

}  // namespace lapwing::kernel
