// Copies between the memory of devices and the processor's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/driver.hpp"

namespace lapwing::device {

// They are complete when finish() has returned; until then what they read and write stays in place. By one
// thread, which gets the context that was current before back at the end. All throw Error (system).
class Copies {
  public:
    Copies() = default;
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;
    ~Copies();

    void to_host(const Place& place, std::byte* host, const void* address, std::uint64_t bytes);
    void to_device(const Place& place, void* address, const std::byte* host, std::uint64_t bytes);
    void finish();

  private:
    void enter(const Place& place);
    void leave() noexcept;

    Place place_;  // of what is in flight; none: nothing is
    OpenCopies open_;
};

}  // namespace lapwing::device
