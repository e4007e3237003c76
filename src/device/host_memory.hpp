// Host memory that stands for the memory of a device while a list runs: pinned where the driver can, and kept
// for the next time, because pinning takes longer than most copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/driver.hpp"

namespace lapwing::device {

// What one collective uses.
class HostMemory {
  public:
    HostMemory() = default;
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;
    ~HostMemory() { give_back(); }

    // To be copied from or to this place. Throws std::bad_alloc.
    std::byte* take(const Place& place, std::uint64_t bytes);
    // For others to use.
    void give_back();
    // Something may write there for ever.
    void abandon() { blocks_.clear(); }
    bool empty() const { return blocks_.empty(); }

  private:
    friend class HostPool;
    struct Block {
        std::byte* memory;
        std::uint64_t bytes;
        Driver* pinned;  // by it; null: it refused
    };
    std::vector<Block> blocks_;
};

}  // namespace lapwing::device
