// Whether a program starts many lists before it waits for one of them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace lapwing::kernel {

class Bursts {
  public:
    static constexpr std::size_t many = 8;

    void started() { ++size_; }
    // The program tests a list or waits for it.
    void ended() {
        if (size_ > 0) last_ = size_;
        size_ = 0;
    }
    // The starts since the last call of ended().
    std::size_t size() const { return size_; }
    // Whether the list that was started last probably belongs to many that start in a row, and is not the
    // first of them.
    bool amid_many() const { return size_ > 1 && std::max(size_, last_) >= many; }

  private:
    std::size_t size_ = 0;
    std::size_t last_ = 0;  // of the burst before
};

}  // namespace lapwing::kernel
