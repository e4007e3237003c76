// Elements in the memory of a device: copied to host memory, where lists find their bytes, and back.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "device/copies.hpp"
#include "device/host_memory.hpp"
#include "mpi/native/datatype.hpp"

namespace lapwing {

// Where the data of elements are. `near`: of other memory, which is asked first. Throws Error (system).
device::Location place_of(const void* elements, std::uint64_t count, MPI_Datatype type, const Layout& layout,
                          const device::Location& near);

// The MPI's error code for an error of a driver, with its message.
int device_error(const Error& error);

// pack() and unpack() of elements at any place. What they copy may be in flight until finish(). They return
// an MPI error code.
class DeviceData {
  public:
    int pack(const device::Location& place, const void* elements, std::uint64_t count, MPI_Datatype type,
             const Layout& layout, std::byte* bytes);
    int unpack(const device::Location& place, const std::byte* bytes, void* elements, std::uint64_t count,
               MPI_Datatype type, const Layout& layout);
    int finish();

  private:
    std::byte* take_span(const device::Location& place, std::uint64_t bytes);

    // Of typed elements, one at a time. Before the copies, which in the end wait for what is in flight there.
    device::HostMemory spans_;
    device::Copies copies_;
};

}  // namespace lapwing
