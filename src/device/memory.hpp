// Finds buffers in the memory of devices.
#pragma once

#include <atomic>

#include "device/driver.hpp"
#include "device/library_watch.hpp"

namespace lapwing::device {

struct Memory {
    // From LAPWING_DEVICE_MEMORY. If false, no drivers are searched.
    bool enabled = false;
    LibraryWatch watch;
    std::atomic<bool> present{false};  // the process has loaded a driver library
};
extern Memory& memory;

// Finds the drivers that the program has loaded since the last call. Must be called before the buffers of an
// MPI call are used, and not inside a lock that the initialization of a library may wait for.
void look_for_drivers();
inline void look() {
    if (memory.enabled && memory.watch.changed()) look_for_drivers();
}

// Whether a buffer may be in the memory of a device. If false, it stays false until the next look().
inline bool present() {
    return memory.present.load(std::memory_order_acquire);
}
// Throws Error (system) if the driver reports an error.
Location find(const void* address);

}  // namespace lapwing::device
