// What the costs of alltoallv count with.
#pragma once

namespace lapwing::alltoallv {

// Bytes of a block, taken to be so many: a rank knows its own blocks only, and all must choose alike.
inline constexpr double default_block = 16384;

}  // namespace lapwing::alltoallv
