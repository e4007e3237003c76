// The size up to which a message, or a list, is short.
#pragma once

#include <cstdint>

namespace lapwing {

// Links copy a message up to this size at once and leave longer ones to the receiver or the progress thread.
// Lists up to this size (bytes sent plus received) finish within a few interrupts: overlapping them costs
// more than it hides.
inline constexpr std::uint64_t max_short_bytes = 16384;

}  // namespace lapwing
