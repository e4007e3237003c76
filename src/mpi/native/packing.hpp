// Typed elements to bytes and back, in any number and of any size. The MPI's own functions count bytes in
// ints.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>

#include "mpi/native/datatype.hpp"

namespace lapwing {

// They return an MPI error code. `most`: so many bytes one call of the MPI packs; tests let it be few.
int pack(const void* elements, std::uint64_t count, MPI_Datatype type, const Layout& layout, std::byte* bytes,
         std::uint64_t most = INT_MAX);
int unpack(const std::byte* bytes, void* elements, std::uint64_t count, MPI_Datatype type,
           const Layout& layout, std::uint64_t most = INT_MAX);

}  // namespace lapwing
