// Counts that every collective changes.
#pragma once

#include <atomic>

namespace lapwing {

// Changed inside Entry only, by one thread at a time: a change needs no locked instruction. Any thread may
// read it, and sees all writes that came before the last change.
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
