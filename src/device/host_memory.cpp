#include "device/host_memory.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

namespace lapwing::device {

// Blocks that are not in use. They are ordinary memory that the driver pins, and not memory of the driver,
// because other ranks of the host copy from them by system calls that refuse mappings of devices.
class HostPool {
  public:
    using Block = HostMemory::Block;

    Block take(const Location& location, std::uint64_t bytes) {
        // Few different sizes, so that blocks can be reused; at most an eighth larger than needed.
        const std::uint64_t step = std::max(smallest, std::bit_floor(bytes) / 8);
        const std::uint64_t size = (std::max<std::uint64_t>(bytes, 1) + step - 1) / step * step;
        {
            const std::lock_guard lock(mutex_);
            const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Block& block) {
                return block.bytes == size && (block.pinned == nullptr || block.pinned == location.driver);
            });
            if (found != idle_.rend()) {
                const Block block = *found;
                idle_.erase(std::next(found).base());
                idle_bytes_ -= block.bytes;
                return block;
            }
        }
        Block block{static_cast<std::byte*>(::operator new(size, alignment)), size, nullptr};
        if (location.driver->pin(location, block.memory, block.bytes)) block.pinned = location.driver;
        return block;
    }

    void release(const Block& block) {
        std::vector<Block> surplus;
        {
            const std::lock_guard lock(mutex_);
            idle_.push_back(block);
            idle_bytes_ += block.bytes;
            // Frees the blocks that were unused for longest. One large block may stay alone, because a
            // program that needs it would pin it each time.
            while (idle_bytes_ > max_idle && idle_.size() > 1) {
                surplus.push_back(idle_.front());
                idle_bytes_ -= idle_.front().bytes;
                idle_.erase(idle_.begin());
            }
        }
        for (const Block& old : surplus) {
            if (old.pinned != nullptr) old.pinned->unpin(old.memory);
            ::operator delete(old.memory, alignment);
        }
    }

  private:
    static constexpr std::uint64_t smallest = 64 << 10;
    static constexpr std::uint64_t max_idle = 256 << 20;
    static constexpr std::align_val_t alignment{4096};
    std::mutex mutex_;
    std::vector<Block> idle_;  // in the order of their release
    std::uint64_t idle_bytes_ = 0;
};

namespace {
// Never destroyed, because the driver may be gone when the process ends.
HostPool& pool = *new HostPool;
}  // namespace

std::byte* HostMemory::take(const Location& location, std::uint64_t bytes) {
    blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back(pool.take(location, bytes));
    return blocks_.back().memory;
}

void HostMemory::release() {
    for (const Block& block : blocks_) pool.release(block);
    blocks_.clear();
}

}  // namespace lapwing::device
