// The owner of a descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace lapwing {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(Descriptor&& other) noexcept : descriptor_(other.release()) {}
    Descriptor& operator=(Descriptor other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }
    // The caller owns the descriptor from now on.
    int release() { return std::exchange(descriptor_, -1); }
    void reset() {
        if (const int old = release(); old >= 0) ::close(old);
    }

  private:
    int descriptor_ = -1;
};

}  // namespace lapwing
