// Finds buffers in the memory of devices.
#pragma once

#include <atomic>

#include "device/driver.hpp"

namespace lapwing::device {

struct Memory {
    // From LAPWING_DEVICE_MEMORY. If false, no drivers are searched.
    bool enabled = false;
    std::atomic<bool> present{false};  // the process has loaded a driver library
};
extern Memory& memory;

// The number of libraries that the process has loaded so far, including those that it has unloaded.
unsigned long long loaded_libraries();

// Finds the drivers that the program has loaded since the last call. Must be called before the buffers of an
// MPI call are used, and not inside a lock that the initialization of a library may wait for.
//
// If no library has been loaded since the last call, a call takes 20 ns, or 44 ns if two threads call at the
// same time (AMD EPYC with 2 CPUs, glibc 2.36): the loader counts libraries, and locks its list to report it.
void look();

// Whether a buffer may be in the memory of a device. If false, it stays false until the next look().
inline bool present() {
    return memory.present.load(std::memory_order_acquire);
}
// Throws Error (system) if the driver reports an error.
Location find(const void* address);

}  // namespace lapwing::device
