// Whether this machine lets io_uring run chains.
#pragma once

#include "base/verdict.hpp"

namespace lapwing::kernel {

// Tries it once: a ring, the operations, a chain over a socket pair, a cancellation. The reason says what
// refuses, and what to do.
Verdict probe();

}  // namespace lapwing::kernel
