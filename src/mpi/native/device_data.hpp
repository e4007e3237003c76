// Copies elements between the memory of a device and host memory, which lists use.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "device/copies.hpp"
#include "device/host_memory.hpp"
#include "mpi/native/datatype.hpp"

namespace lapwing {

// Returns the device that has the elements. `near`: the place of other memory, which is tried first. Throws
// Error (system) if the driver fails.
device::Location place_of(const void* elements, std::uint64_t count, MPI_Datatype type, const Layout& layout,
                          const device::Location& near);

// Returns an MPI error code for a driver's error; MPI_Error_string returns the driver's message.
int device_error(const Error& error);

// Packs and unpacks elements in any memory. Copies may be in flight until finish(). All functions return the
// MPI's error code.
class DeviceData {
  public:
    int pack(const device::Location& place, const void* elements, std::uint64_t count, MPI_Datatype type,
             const Layout& layout, std::byte* bytes);
    int unpack(const device::Location& place, const std::byte* bytes, void* elements, std::uint64_t count,
               MPI_Datatype type, const Layout& layout);
    int finish();

  private:
    std::byte* take_span(const device::Location& place, std::uint64_t bytes);

    // Staging of noncontiguous elements. Declared before copies_, whose destructor waits for copies from
    // here.
    device::HostMemory spans_;
    device::Copies copies_;
};

}  // namespace lapwing
