// The program's large messages and nonblocking collectives in flight that the native MPI carries, so that
// Lapwing's thread drives it (native/async_progress.hpp). A message that is not counted has no overlap;
// nothing else depends on these.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "mpi/native/async_progress.hpp"
#include "mpi/native/handle_set.hpp"
#include "mpi/native/handle_word.hpp"

namespace lapwing {

class PendingMessages {
  public:
    // Smaller messages travel through buffers of the MPI and of the kernel without its progress.
    static constexpr std::uint64_t large = 32 * 1024;

    // After a call that has made this request: nonblocking, or persistent and inactive. `bytes`: not 0.
    void add(MPI_Request handle, std::uint64_t bytes) {
        const auto before = active_.insert(word_of(handle), bytes);
        if (!before) return;
        if (*before != 0) count_out(*before);
        pending_.fetch_add(1, std::memory_order_relaxed);
        total_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        async_progress.add_message(bytes);
    }
    void add_persistent(MPI_Request handle, std::uint64_t bytes) {
        if (persistent_.insert(word_of(handle), bytes) == HandleSet::Entry{0})
            all_persistent_.fetch_add(1, std::memory_order_relaxed);
    }
    void start(MPI_Request handle) {
        if (const auto entry = persistent_.find(word_of(handle)); entry != 0)
            add(handle, HandleSet::bytes_of(entry));
    }
    // The present entry of a request; 0 if it has none.
    HandleSet::Entry find(MPI_Request handle) const { return active_.find(word_of(handle)); }
    // The message of this entry is complete, or its request is freed.
    void remove(MPI_Request handle, HandleSet::Entry entry) {
        if (active_.erase(word_of(handle), entry)) count_out(entry);
    }
    void remove_persistent(MPI_Request handle) {
        if (persistent_.erase(word_of(handle), persistent_.find(word_of(handle))))
            all_persistent_.fetch_sub(1, std::memory_order_relaxed);
    }

    static bool any() { return pending() > 0; }
    static int pending() { return pending_.load(std::memory_order_relaxed); }
    static bool any_persistent() { return all_persistent_.load(std::memory_order_relaxed) > 0; }
    bool is_persistent(MPI_Request handle) const { return persistent_.find(word_of(handle)) != 0; }
    // All that were ever pending.
    std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }
    std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    static void count_out(HandleSet::Entry entry) {
        pending_.fetch_sub(1, std::memory_order_relaxed);
        async_progress.remove_message(HandleSet::bytes_of(entry));
    }

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
