// What the protocol needs from the system: words, sleep, copies between processes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace lapwing::shm {

struct Linux {
    template <typename Value>
    using Word = std::atomic<Value>;
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
    using Mutex = std::mutex;

    static void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
    // Shared memory that is not words: about to be published; has been read. A checker of memory orders
    // detects races there.
    static void writes(const void*, std::uint64_t) {}
    static void reads(const void*, std::uint64_t) {}

    // Between processes: wakes a sleeper at the word; sleeps while the word has the value, up to a limit in
    // nanoseconds; negative: without limit.
    static void wake(Word<std::uint32_t>& word);
    static void wake(int pipe);  // a sleeper in poll(), by the pipe's writing end
    static void sleep(const Word<std::uint32_t>& word, std::uint32_t value, long nanoseconds);
    static std::uint64_t nanoseconds();  // of a monotonic clock; never 0

    // Copies between the memories of two processes, by the kernel. Returns 0 or an errno: EPERM and the like
    // if the system does not allow it, ESRCH if the process has ended.
    static int copy_from(pid_t process, std::uint64_t address, std::byte* target, std::uint64_t bytes);
    static int copy_to(pid_t process, std::uint64_t address, const std::byte* source, std::uint64_t bytes);
    // copy_to of no bytes: whether the call is allowed. The kernel has one rule for both directions, but a
    // filter may allow only one.
    static int try_copy_to(pid_t process);
};

// Lets the other processes of this user copy from and to this one, where Linux (Yama) requires permission.
void permit_direct_copies();

}  // namespace lapwing::shm
