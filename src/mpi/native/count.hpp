// Counts that are kept up to date in every collective.
#pragma once

#include <atomic>

namespace lapwing {

// Changed inside Entry only, by one thread at a time, so that a change needs no locked instruction; read by
// any. Who reads a count sees what was done before it was changed.
class Count {
  public:
    void operator++() { add(1); }
    void operator--() { add(-1); }
    operator int() const { return value_.load(std::memory_order_acquire); }

  private:
    void add(int difference) {
        value_.store(value_.load(std::memory_order_relaxed) + difference, std::memory_order_release);
    }
    std::atomic<int> value_{0};
};

}  // namespace lapwing
