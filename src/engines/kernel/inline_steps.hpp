// Does the steps of chains by plain system calls of the calling thread. A caller that only waits saves the
// kernel's interrupts.
#pragma once

#include "engines/kernel/chain_progress.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

// Advances all chains of the run that are not in the kernel, without blocking. Returns false if a step fails,
// and records the failure in the run.
bool advance_inline(KernelRun& run);

}  // namespace lapwing::kernel
