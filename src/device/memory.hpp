// Buffers in the memory of devices: which they are.
#pragma once

#include <atomic>

#include "device/driver.hpp"
#include "device/library_watch.hpp"

namespace lapwing::device {

struct Memory {
    // LAPWING_DEVICE_MEMORY: before this nothing is looked for.
    bool enabled = false;
    LibraryWatch watch;
    std::atomic<bool> present{false};  // the process has a driver's library
};
extern Memory& memory;

// Finds the drivers that the program has loaded since the last call. Before a call's buffers are used; not
// inside a lock that the start of a library may wait for.
void look_for_drivers();
inline void look() {
    if (memory.enabled && memory.watch.changed()) look_for_drivers();
}

// Whether a buffer may be a device's at all. What is false stays so until the next look().
inline bool present() {
    return memory.present.load(std::memory_order_acquire);
}
// Throws Error (system) when the driver does not say.
Place find(const void* address);

}  // namespace lapwing::device
