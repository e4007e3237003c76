// One io_uring. Not thread-safe.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>

namespace lapwing::kernel {

// Makes `operation` a setsockopt() of Linux 6.7, of SO_RCVLOWAT. `mark` must exist until the operation is
// complete.
void prepare_low_water_mark(io_uring_sqe& operation, int descriptor, const int& mark);

class Ring {
  public:
    static constexpr unsigned entries = 512;
    // The user data of the completion that wake() causes.
    static constexpr std::uint64_t wake_up = UINT64_MAX;

    // Throws Error (system).
    Ring();
    ~Ring();
    Ring& operator=(Ring&&) = delete;

    // Makes room for `operations` (at most `entries`) that enter the kernel together, so that they can be
    // linked. Throws Error (system).
    void reserve(std::size_t operations);
    io_uring_sqe* next() { return io_uring_get_sqe(&ring_); }
    // Throws Error (system).
    void submit();

    // Calls `handle(completion)` for each completion. Makes a system call only if the completion queue
    // overflowed.
    template <typename Handle>
    void reap(Handle handle) {
        io_uring_cqe* completion = nullptr;
        while (io_uring_peek_cqe(&ring_, &completion) == 0) {
            const io_uring_cqe copy = *completion;
            io_uring_cqe_seen(&ring_, completion);
            handle(copy);
        }
    }

    // Makes descriptor() readable, to wake threads that sleep on it.
    void wake();

    // Cancels all operations, or those on one descriptor. Each chain that stops posts a completion: before
    // the call returns for operations that this thread has submitted, soon for those of another thread.
    // Return false if the kernel refuses it, or has no such operation.
    bool cancel_all() { return cancel(-1); }
    bool cancel(int descriptor);

    // Readable when there are completions.
    int descriptor() const { return ring_.ring_fd; }

  private:
    io_uring ring_{};
};

}  // namespace lapwing::kernel
