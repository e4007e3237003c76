// The lock around Lapwing's requests, and counts that change inside it.
#pragma once

#include <atomic>
#include <thread>

namespace lapwing {

// Admits one thread at a time, which may enter again: a callback of the program, as of a type's attribute,
// calls the MPI. The native MPI's progress may call Lapwing while Lapwing is inside the native MPI: that call
// only tries the lock, so no thread waits for this lock while it holds one of the MPI's. Also below
// MPI_THREAD_MULTIPLE: Lapwing has a thread of its own, and programs exist whose threads call at once all the
// same (PT-Scotch's), which Open MPI survives.
class Entry {
  public:
    Entry() : nested_(inside_) {
        if (nested_) return;
        while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
        inside_ = true;
    }
    ~Entry() {
        if (!nested_) leave();
    }
    Entry& operator=(Entry&&) = delete;

    static bool try_enter() {
        if (busy() || busy_.exchange(true, std::memory_order_acquire)) return false;
        inside_ = true;
        return true;
    }
    static bool busy() { return busy_.load(std::memory_order_relaxed); }
    static void leave() {
        inside_ = false;
        busy_.store(false, std::memory_order_release);
    }

  private:
    const bool nested_;
    static inline constinit thread_local bool inside_ = false;  // this thread
    static inline std::atomic<bool> busy_{false};
};

template <typename Work>
auto inside_entry(Work work) {
    const Entry entry;
    return work();
}

// Changed inside Entry only, by one thread at a time: a change needs no locked instruction. Any thread may
// read it, and sees all writes that came before the last change.
class Count {
  public:
    void operator++() { add(1); }
    void operator--() { add(-1); }
    void add(int difference) {
        value_.store(value_.load(std::memory_order_relaxed) + difference, std::memory_order_release);
    }
    operator int() const { return value_.load(std::memory_order_acquire); }

  private:
    std::atomic<int> value_{0};
};

}  // namespace lapwing
