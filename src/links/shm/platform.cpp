#include "links/shm/platform.hpp"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "links/event/wake_pipe.hpp"

namespace lapwing::shm {
namespace {

template <typename Call>
int in_full(Call call, pid_t process, std::byte* here, std::uint64_t there, std::uint64_t bytes) {
    while (bytes > 0) {
        const iovec local{here, bytes};
        const iovec remote{reinterpret_cast<void*>(there), bytes};
        const ssize_t moved = call(process, &local, 1, &remote, 1, 0);
        if (moved < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (moved == 0) return EFAULT;
        here += moved;
        there += static_cast<std::uint64_t>(moved);
        bytes -= static_cast<std::uint64_t>(moved);
    }
    return 0;
}

}  // namespace

void Linux::wake(Word<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Linux::wake(int pipe) {
    WakePipe::wake(pipe);
}

void Linux::sleep(const Word<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
    const timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    // The reason for the return does not matter: the sleeper checks again.
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nanoseconds < 0 ? nullptr : &limit, nullptr, 0);
}

int Linux::copy_from(pid_t process, std::uint64_t address, std::byte* target, std::uint64_t bytes) {
    return in_full(::process_vm_readv, process, target, address, bytes);
}

int Linux::copy_to(pid_t process, std::uint64_t address, const std::byte* source, std::uint64_t bytes) {
    return in_full(::process_vm_writev, process, const_cast<std::byte*>(source), address, bytes);
}

std::uint64_t Linux::nanoseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec) +
           1;
}

int Linux::try_copy_to(pid_t process) {
    const iovec none{nullptr, 0};
    return ::process_vm_writev(process, &none, 1, &none, 1, 0) < 0 ? errno : 0;
}

void permit_direct_copies() {
    // Fails without Yama: then no permission is needed.
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace lapwing::shm
