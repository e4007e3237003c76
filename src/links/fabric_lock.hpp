// The lock of a fabric, which callers and the progress thread share: callers go first.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace lapwing {

class FabricLock {
  public:
    // By all but drive().
    [[nodiscard]] std::unique_lock<std::mutex> hold() {
        ++callers_;
        std::unique_lock lock(mutex_);
        --callers_;
        return lock;
    }

    // Under the lock, steps until one moves nothing; `begin` whenever it has taken the lock. True when
    // something has moved. As long as messages come there is something to move, and a start shall not wait
    // for that: so it lets go where somebody waits.
    template <typename Step, typename Begin = decltype([] {})>
    bool drive(Step step, Begin begin = {}) {
        bool moved = false;
        for (;;) {
            {
                const std::lock_guard lock(mutex_);
                begin();
                do {
                    if (!step()) return moved;
                    moved = true;
                } while (callers_ == 0);
            }
            while (callers_ > 0) std::this_thread::yield();
        }
    }

  private:
    std::mutex mutex_;
    std::atomic<int> callers_{0};  // who wait for it
};

}  // namespace lapwing
