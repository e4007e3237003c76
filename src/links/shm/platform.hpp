// What the protocol asks of the machine: words, sleep, copies between processes.
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
    // What stands in shared memory beside the words: about to be published, and read until now. A checker of
    // memory orders looks for races there.
    static void writes(const void*, std::uint64_t) {}
    static void reads(const void*, std::uint64_t) {}

    // Between processes: wakes who sleeps at the word; sleeps while it has the value, up to a limit; below
    // zero there is none.
    static void wake(Word<std::uint32_t>& word);
    static void wake(int pipe);  // who sleeps in poll(), by the pipe's writing end
    static void sleep(const Word<std::uint32_t>& word, std::uint32_t value, long nanoseconds);
    static std::uint64_t nanoseconds();  // of a clock that only goes forward, never 0

    // Between the memories of two processes, by the kernel and without a step in between. 0, or errno: EPERM
    // and the like where the system does not allow it, ESRCH when the process has ended.
    static int copy_from(pid_t process, std::uint64_t address, std::byte* target, std::uint64_t bytes);
    static int copy_to(pid_t process, std::uint64_t address, const std::byte* source, std::uint64_t bytes);
    // copy_to of nothing: whether the call is allowed, where copy_from is. The kernel has one rule for both,
    // but a filter may tell them apart.
    static int try_copy_to(pid_t process);
};

// Lets the other processes of this user copy, where Linux (Yama) asks a process to say so.
void permit_direct_copies();

}  // namespace lapwing::shm
