// Whether this machine lets io_uring run chains.
#pragma once

#include "base/verdict.hpp"

namespace lapwing::kernel {

// Tries a ring, the operations, a chain over a socket pair and a cancellation, once per process. The reason
// names what is refused and what to do.
Verdict probe();

}  // namespace lapwing::kernel
