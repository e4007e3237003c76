// The driver's library of a kind of accelerator, as far as buffers in its memory need it. Lapwing is not
// linked to one: a process has memory of a device only after its program has loaded the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lapwing::device {

class Driver;

// Where memory is.
struct Place {
    Driver* driver = nullptr;  // null: the processor may use it, as it may use managed and pinned host memory
    void* context = nullptr;   // which the memory belongs to, where the driver has contexts and knows it
    int device = 0;
    std::uint64_t begin = 0;  // its allocation; both 0: not known
    std::uint64_t end = 0;
    bool in_parts = false;  // one of several places of the same buffer

    bool on_device() const { return driver != nullptr; }
};

// Copies of one thread that go on together, with the context of a place: from open_copies() to
// close_copies().
struct OpenCopies {
    void* context = nullptr;
    void* stream = nullptr;
    int device_before = 0;
    bool owns_stream = false;
    bool holds_primary = false;
};

// All of these by any thread, and in any context: the program's own is current again afterwards. They throw
// Error (system) with the driver's own words.
class Driver {
  public:
    virtual ~Driver() = default;
    virtual const char* name() const = 0;
    virtual Place find(const void* address) = 0;

    virtual OpenCopies open_copies(const Place& place) = 0;
    virtual void to_host(const OpenCopies& open, std::byte* host, const void* address,
                         std::uint64_t bytes) = 0;
    virtual void to_device(const OpenCopies& open, void* address, const std::byte* host,
                           std::uint64_t bytes) = 0;
    virtual void wait(const OpenCopies& open) = 0;
    virtual void close_copies(const Place& place, const OpenCopies& open) noexcept = 0;

    // Keeps host memory in place, so that the device copies it by itself. False when the driver refuses:
    // copies are slower then.
    virtual bool pin(const Place& place, void* memory, std::uint64_t bytes) noexcept = 0;
    virtual void unpin(void* memory) noexcept = 0;
};

// Of a library that is loaded, by its handle; null when it lacks a function that is needed.
std::unique_ptr<Driver> make_cuda_driver(void* library);
std::unique_ptr<Driver> make_hip_driver(void* library);

}  // namespace lapwing::device
