// Registers memory with the card, as long as this object lives.
#pragma once

#include <utility>

#include "engines/mlx5/device.hpp"

namespace lapwing::mlx5 {

class Registered {
  public:
    Registered() = default;
    Registered(Device& device, const std::byte* memory, std::size_t bytes) {
        if (bytes == 0) return;
        key_ = device.register_memory(const_cast<std::byte*>(memory), bytes);
        device_ = &device;
    }
    ~Registered() { reset(); }
    Registered(Registered&& other) noexcept
        : device_(std::exchange(other.device_, nullptr)), key_(other.key_) {}
    Registered& operator=(Registered&& other) noexcept {
        reset();
        device_ = std::exchange(other.device_, nullptr);
        key_ = other.key_;
        return *this;
    }

    void reset() {
        if (device_ != nullptr) std::exchange(device_, nullptr)->deregister(key_);
    }
    const MemoryKey& key() const { return key_; }

  private:
    Device* device_ = nullptr;  // null: nothing is registered
    MemoryKey key_;
};

}  // namespace lapwing::mlx5
