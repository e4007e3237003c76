// How many descriptors this process may open.
#pragma once

#include <cstdint>

namespace lapwing::tcp {

// That stay free of connections, for the program, the MPI and the engine's gates.
inline constexpr std::uint64_t kept_descriptors = 48;

// How many more descriptors this process may open before it meets its limit (RLIMIT_NOFILE).
std::uint64_t free_descriptors();
// Raises the limit by that many, as far as the system lets it; by how many it did.
std::uint64_t raise_descriptor_limit(std::uint64_t by);
// free_descriptors(), after the limit has been raised towards `wanted` free ones, as far as the system lets
// it.
std::uint64_t make_room_for_descriptors(std::uint64_t wanted);

}  // namespace lapwing::tcp
