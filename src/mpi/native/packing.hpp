// Packs and unpacks any number of elements of any size. The MPI's own functions count bytes in ints.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include "mpi/native/elements.hpp"

namespace lapwing {

// Both return the MPI's error code. `max`: bytes that one call of the MPI packs; tests use small values.
int pack(const Elements& elements, std::byte* bytes, std::uint64_t max = INT_MAX);
int unpack(const std::byte* bytes, const Elements& elements, std::uint64_t max = INT_MAX);

}  // namespace lapwing
