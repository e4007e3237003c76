// The lanes of one group that persistent lists have for themselves. Each takes a lane that is free on all
// ranks; a lane's descriptors are set aside when the lane is first used.
#pragma once

#include <cstdint>
#include <functional>

namespace lapwing::kernel {

class PersistentLanes {
  public:
    static constexpr int count = 32;  // a bit for each

    // `set_aside` sets the descriptors of one more lane aside (false: there are too few), `release` releases
    // them.
    PersistentLanes(std::function<bool()> set_aside, std::function<void()> release)
        : set_aside_(std::move(set_aside)), release_(std::move(release)) {}

    // The lanes that this rank cannot use. accept() or decline() must follow.
    std::uint32_t offer() {
        may_open_ = set_aside_();
        return taken_ | (may_open_ ? 0 : ~opened_);
    }
    void accept(int lane) {
        const std::uint32_t bit = std::uint32_t{1} << lane;
        if (may_open_ && (opened_ & bit) != 0) release_();
        may_open_ = false;
        taken_ |= bit;
        opened_ |= bit;
    }
    void decline() {
        if (may_open_) release_();
        may_open_ = false;
    }
    void release(int lane) { taken_ &= ~(std::uint32_t{1} << lane); }

  private:
    const std::function<bool()> set_aside_;
    const std::function<void()> release_;
    std::uint32_t taken_ = 0;   // on this rank
    std::uint32_t opened_ = 0;  // ever; equal on all ranks
    bool may_open_ = false;     // descriptors for one more are set aside
};

}  // namespace lapwing::kernel
