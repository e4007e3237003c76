// The program's large messages and nonblocking collectives in flight that the native MPI carries, so that
// Lapwing's thread drives it (native/async_progress.hpp). A message that is not counted has no overlap;
// nothing else depends on these.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "mpi/native/async_progress.hpp"

namespace lapwing {

class PendingMessages {
  public:
    // Smaller messages travel through buffers of the MPI and of the kernel without its progress.
    static constexpr std::uint64_t large = 32 * 1024;

    // After a call that has made this request: nonblocking, or persistent and inactive. `bytes`: not 0.
    void add(MPI_Request handle, std::uint64_t bytes) {
        if (!active_.insert(handle, bytes)) return;
        pending_.fetch_add(1, std::memory_order_relaxed);
        total_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        async_progress.add_message(bytes);
    }
    void add_persistent(MPI_Request handle, std::uint64_t bytes) {
        if (persistent_.insert(handle, bytes)) all_persistent_.fetch_add(1, std::memory_order_relaxed);
    }
    void start(MPI_Request handle) {
        if (const std::uint64_t bytes = persistent_.bytes_of(handle); bytes > 0) add(handle, bytes);
    }
    // The message is complete, or its request is freed.
    void remove(MPI_Request handle) {
        const std::uint64_t bytes = active_.erase(handle);
        if (bytes == 0) return;
        pending_.fetch_sub(1, std::memory_order_relaxed);
        async_progress.remove_message(bytes);
    }
    void remove_persistent(MPI_Request handle) {
        if (persistent_.erase(handle) > 0) all_persistent_.fetch_sub(1, std::memory_order_relaxed);
    }

    static bool any() { return pending() > 0; }
    static int pending() { return pending_.load(std::memory_order_relaxed); }
    static bool any_persistent() { return all_persistent_.load(std::memory_order_relaxed) > 0; }
    bool contains(MPI_Request handle) const { return active_.bytes_of(handle) > 0; }
    bool is_persistent(MPI_Request handle) const { return persistent_.bytes_of(handle) > 0; }
    // All that were ever pending.
    std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }
    std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    // A handle has a few places; it is left out if they are taken. By any thread.
    class HandleSet {
      public:
        bool insert(MPI_Request handle, std::uint64_t bytes);
        // These return the bytes; 0 if it is not here.
        std::uint64_t erase(MPI_Request handle);
        std::uint64_t bytes_of(MPI_Request handle) const;

      private:
        struct Slot {
            std::atomic<std::uint64_t> handle{0};  // 0: free
            std::atomic<std::uint64_t> bytes{0};
        };
        std::array<Slot, 1024> slots_{};
    };

    HandleSet active_;
    HandleSet persistent_;
    static inline constinit std::atomic<int> pending_{0};
    static inline constinit std::atomic<int> all_persistent_{0};
    std::atomic<std::uint64_t> total_{0};
    std::atomic<std::uint64_t> bytes_{0};
};
// Never destroyed, as the request table.
extern PendingMessages& pending_messages;

}  // namespace lapwing
