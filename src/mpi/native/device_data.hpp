// Copies elements between the memory of a device and host memory, which lists use.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "base/error.hpp"
#include "device/copies.hpp"
#include "device/host_memory.hpp"
#include "mpi/native/elements.hpp"

namespace lapwing {

// All functions return an error code of the MPI; for a driver's error MPI_Error_string returns the driver's
// message.

// Finds the device that has the elements; the default if the processor may use them. `near`: the place of
// other memory, which is tried first.
int find_place(const Elements& elements, const device::Location& near, device::Location& place);

// Packs and unpacks elements in any memory. Copies may be in flight until finish().
class DeviceData {
  public:
    // Packs to `bytes`, or unpacks from there.
    int transfer(bool packs, const device::Location& place, const Elements& elements, std::byte* bytes);
    int finish();

  private:
    // Copies the range of noncontiguous elements to host memory, whose first byte is returned.
    std::byte* stage(const device::Location& place, const Elements& elements);

    // Declared before copies_, whose destructor waits for copies from here.
    device::HostMemory spans_;
    device::Copies copies_;
};

}  // namespace lapwing
