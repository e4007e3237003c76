// Steps done by the caller's thread: the same ones, by plain calls. For callers that have nothing else to do,
// to whom the kernel's interrupts would only be a detour.
#pragma once

#include "engines/kernel/chain_progress.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

// Moves all chains of the run that are not in the kernel as far as their descriptors allow, without blocking.
// False when a step fails, which the run notes as broken.
bool move_inline(Run& run);

}  // namespace lapwing::kernel
