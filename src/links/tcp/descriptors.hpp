// How many descriptors this process may open.
#pragma once

#include <cstdint>

namespace lapwing::tcp {

// Descriptors that connections leave free, for the program, the MPI and the engine's gates.
inline constexpr std::uint64_t reserved_descriptors = 48;

// How many more descriptors this process may open before its limit (RLIMIT_NOFILE).
std::uint64_t free_descriptors();
// Raises the limit by that many, or as far as the system permits; returns by how many.
std::uint64_t raise_descriptor_limit(std::uint64_t by);
// Raises the limit for `wanted` free descriptors, or as far as the system permits; returns
// free_descriptors().
std::uint64_t make_room_for_descriptors(std::uint64_t wanted);

}  // namespace lapwing::tcp
