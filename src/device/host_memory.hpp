// Host memory that replaces the memory of a device while a list runs. It is pinned if the driver can pin it,
// and is reused, because pinning takes longer than most copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/driver.hpp"

namespace lapwing::device {

// The host memory of one collective.
class HostMemory {
  public:
    HostMemory() = default;
    HostMemory& operator=(HostMemory&&) = delete;
    ~HostMemory() { release(); }

    // Memory for copies from or to `location`. Throws std::bad_alloc.
    std::byte* take(const Location& location, std::uint64_t bytes);
    void release();
    // Never reuses the memory, because something may still write to it.
    void abandon() { blocks_.clear(); }
    bool empty() const { return blocks_.empty(); }

  private:
    friend class HostPool;
    struct Block {
        std::byte* memory;
        std::uint64_t bytes;
        Driver* pinned;  // the driver that pinned it; null if it refused
    };
    std::vector<Block> blocks_;
};

}  // namespace lapwing::device
