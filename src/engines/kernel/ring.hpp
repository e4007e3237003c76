// One io_uring: operations enter, completions leave. Not thread-safe.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>

namespace lapwing::kernel {

// Stops operations, `which` by IORING_ASYNC_CANCEL_ANY, or _FD for those of one descriptor. Below 0: -errno.
int cancel_operations(io_uring& ring, int descriptor, unsigned which);

class Ring {
  public:
    static constexpr unsigned entries = 512;
    // The user data of a completion that belongs to no operation of a run.
    static constexpr std::uint64_t wake_up = UINT64_MAX;

    // Throws Error (system).
    Ring();
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    // What follows until the next reserve() enters the kernel together, and may be linked. `operations` is at
    // most `entries`. Throws Error (system).
    void reserve(std::size_t operations);
    io_uring_sqe* next() { return io_uring_get_sqe(&ring_); }
    // Throws Error (system).
    void submit();

    // Calls `handle(completion)` for each completion there is. No system call, unless the kernel had more
    // completions than it had room for.
    template <typename Handle>
    void reap(Handle handle) {
        io_uring_cqe* completion = nullptr;
        while (io_uring_peek_cqe(&ring_, &completion) == 0) {
            const io_uring_cqe copy = *completion;
            io_uring_cqe_seen(&ring_, completion);
            handle(copy);
        }
    }

    // Makes descriptor() readable, for threads that sleep on it. Throws Error (system).
    void wake();

    // Cancels what is in the kernel: all, or the operations on one descriptor. Each chain that is stopped
    // posts a completion; for operations that this thread has submitted at once, for another thread's soon.
    void cancel_all();
    void cancel(int descriptor);

    // Readable when there are completions.
    int descriptor() const { return ring_.ring_fd; }

  private:
    io_uring ring_{};
};

}  // namespace lapwing::kernel
