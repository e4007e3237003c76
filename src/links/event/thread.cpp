#include "links/event/thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/floating_point.hpp"
#include "base/values.hpp"

namespace lapwing {

std::thread start_thread(std::function<void()> work) {
    std::thread thread;
    try {
        const BlockedSignals blocked;
        thread = std::thread([work = std::move(work)] {
            ProgramFloatingPoint::begin_thread();
            work();
        });
    } catch (const std::system_error& error) {
        throw Error(ErrorCode::system, "cannot create a thread ({}): raise `ulimit -u`", error.what());
    }
    pthread_setname_np(thread.native_handle(), "lapwing");
    return thread;
}

void take_short_slices() {
    // Linux (EEVDF) lets a thread that wakes preempt another of the same priority if its slices are shorter.
    // Its share of the processor stays the same. Older systems ignore the slice.
    struct {  // sched_attr, whose header does not go with <sched.h>
        std::uint32_t size;
        std::uint32_t policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime;
        std::uint64_t deadline;
        std::uint64_t period;
    } own{};
    constexpr std::uint64_t shortest_slice = 100'000;  // nanoseconds
    if (::syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) != 0 || own.policy != SCHED_OTHER) return;
    own.runtime = shortest_slice;
    static_cast<void>(::syscall(SYS_sched_setattr, 0, &own, 0));
}

void place_thread(std::thread& thread, const std::vector<int>& processors) {
    // 65,536 CPUs: the kernel refuses a set for fewer CPUs than the machine may have.
    std::vector<cpu_set_t> set(64);
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (processors.empty() && sched_getaffinity(getpid(), bytes, set.data()) != 0)
        throw_system("sched_getaffinity");
    for (const int processor : processors) CPU_SET_S(static_cast<unsigned>(processor), bytes, set.data());
    const int error = pthread_setaffinity_np(thread.native_handle(), bytes, set.data());
    if (error != 0)
        throw_invalid(
            "LAPWING_PROGRESS_THREAD={}: this process may not use these CPUs: {}; "
            "`taskset -cp $$` lists the allowed CPUs",
            print_ranges(processors), std::strerror(error));
}

}  // namespace lapwing
