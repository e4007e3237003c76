// The lock of a fabric, which callers and the progress thread share: callers go first.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace lapwing {

class FabricLock {
  public:
    // For all callers but drive(), until the end of the scope.
    class [[nodiscard]] Held {
      public:
        explicit Held(FabricLock& lock) : lock_(lock) {
            ++lock_.callers_;
            lock_.lock();
            --lock_.callers_;
        }
        ~Held() {
            lock_.mutex_.unlock();
            // A thread that was woken on this processor and found the lock taken would otherwise wait for a
            // time slice.
            if (lock_.waiting_.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
        }
        Held& operator=(Held&&) = delete;

      private:
        FabricLock& lock_;
    };
    Held hold() { return Held(*this); }

    // Calls `step` under the lock until it returns false, and `begin` each time that it has taken the lock.
    // Returns true if a step has. Releases the lock when a caller waits: a start must not wait until no more
    // messages arrive.
    template <typename Step, typename Begin = decltype([] {})>
    bool drive(Step step, Begin begin = {}) {
        bool moved = false;
        for (;;) {
            {
                lock();
                const std::lock_guard held(mutex_, std::adopt_lock);
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
    void lock() {
        if (mutex_.try_lock()) return;
        ++waiting_;
        mutex_.lock();
        --waiting_;
    }

    std::mutex mutex_;
    std::atomic<int> callers_{0};  // that wait for the lock, or are about to
    std::atomic<int> waiting_{0};
};

}  // namespace lapwing
