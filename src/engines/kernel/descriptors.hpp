// The descriptors of this process that connections may take, counted before they are opened.
#pragma once

#include <cstdint>

#include "links/tcp/sockets.hpp"

namespace lapwing::kernel {

class Descriptors {
  public:
    // `to_stay_free`: how many must stay free for others.
    explicit Descriptors(std::uint64_t to_stay_free)
        : to_stay_free_(to_stay_free), limit_(tcp::free_descriptors()) {}

    // Sets `count` aside; raises the process' limit if need be. False if there are too few.
    bool take(std::uint64_t count) {
        const std::uint64_t all = taken_ + count + to_stay_free_;
        if (all > limit_) limit_ += tcp::raise_descriptor_limit(all - limit_);
        if (all > limit_) return false;
        taken_ += count;
        return true;
    }
    void release(std::uint64_t count) { taken_ -= count; }
    // That could still be taken or must stay free.
    std::uint64_t free() const { return limit_ < taken_ ? 0 : limit_ - taken_; }
    std::uint64_t to_stay_free() const { return to_stay_free_; }

  private:
    const std::uint64_t to_stay_free_;
    std::uint64_t limit_;  // that were free at the start, or have been added since
    std::uint64_t taken_ = 0;
};

}  // namespace lapwing::kernel
