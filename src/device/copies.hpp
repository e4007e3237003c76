// Copies between the memory of devices and the processor's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/driver.hpp"

namespace lapwing::device {

// The copies are complete when finish() returns. Until then the caller must not free or change their buffers.
// One thread must make all calls; finish() restores its context. All calls throw Error (system).
class Copies {
  public:
    Copies() = default;
    Copies& operator=(Copies&&) = delete;
    ~Copies();

    void to_host(const Location& location, std::byte* host, const void* address, std::uint64_t bytes);
    void to_device(const Location& location, void* address, const std::byte* host, std::uint64_t bytes);
    void finish();

  private:
    void enter(const Location& location);
    void leave() noexcept;

    Location location_;  // of the copies in flight
    OpenCopies open_;
};

}  // namespace lapwing::device
