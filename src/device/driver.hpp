// The driver library of a kind of accelerator, as far as buffers in its memory need it. Lapwing is not linked
// to such a library. A process has memory of a device only after its program has loaded the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lapwing::device {

class Driver;

// The location of a buffer.
struct Location {
    Driver* driver = nullptr;  // null: the processor can access it, such as managed and pinned host memory
    void* context = nullptr;   // the context that owns the memory; null if unknown or if the driver has none
    int device = 0;
    std::uint64_t begin = 0;  // of the allocation; both are 0 if unknown
    std::uint64_t end = 0;
    bool in_parts = false;  // other parts of the buffer have other locations

    bool on_device() const { return driver != nullptr; }
};

// Copies of one thread in the context of a location, from open_copies() to close_copies().
struct OpenCopies {
    void* context = nullptr;
    void* stream = nullptr;
    int device_before = 0;
    bool owns_stream = false;
    bool holds_primary = false;
};

// Thread-safe. The calls work in any current context and restore it. They throw Error (system) with the
// driver's message.
class Driver {
  public:
    virtual ~Driver() = default;
    virtual const char* name() const = 0;
    virtual Location find(const void* address) = 0;

    virtual OpenCopies open_copies(const Location& location) = 0;
    virtual void to_host(const OpenCopies& open, std::byte* host, const void* address,
                         std::uint64_t bytes) = 0;
    virtual void to_device(const OpenCopies& open, void* address, const std::byte* host,
                           std::uint64_t bytes) = 0;
    virtual void wait(const OpenCopies& open) = 0;
    virtual void close_copies(const Location& location, const OpenCopies& open) noexcept = 0;

    // Pins host memory, so that the device can copy it by itself. Returns false if the driver refuses; copies
    // are slower then.
    virtual bool pin(const Location& location, void* memory, std::uint64_t bytes) noexcept = 0;
    virtual void unpin(void* memory) noexcept = 0;
};

// Throws Error (system): "FUNCTION of BYTES bytes: NAME (MEANING)". 0 bytes are omitted.
[[noreturn]] void throw_failed(const char* function, std::uint64_t bytes, const char* name,
                               const char* meaning);

// `library`: the handle of a loaded library. Returns null if a required function is missing.
std::unique_ptr<Driver> make_cuda_driver(void* library);
std::unique_ptr<Driver> make_hip_driver(void* library);

}  // namespace lapwing::device
