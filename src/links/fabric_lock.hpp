// The lock of a fabric, which callers and the progress thread share: callers go first.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace lapwing {

class FabricLock {
  public:
    // By all but drive(), until the end of the scope.
    class [[nodiscard]] Held {
      public:
        explicit Held(FabricLock& lock) : lock_(lock) {
            ++lock_.callers_;
            lock_.lock();
            --lock_.callers_;
        }
        ~Held() {
            lock_.mutex_.unlock();
            // Who was woken on this processor and found the lock taken would run after a time slice only.
            if (lock_.waiting_.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
        }
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;

      private:
        FabricLock& lock_;
    };
    Held hold() { return Held(*this); }

    // Under the lock, steps until one moves nothing; `begin` whenever it has taken the lock. True when
    // something has moved. As long as messages come there is something to move, and a start shall not wait
    // for that: so it lets go where somebody waits.
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
    std::atomic<int> callers_{0};  // who wait for it, or are about to
    std::atomic<int> waiting_{0};
};

}  // namespace lapwing
