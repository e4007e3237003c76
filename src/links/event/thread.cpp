#include "links/event/thread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "links/event/signals.hpp"

namespace lapwing {

std::thread start_thread(std::function<void()> work) {
    std::thread thread;
    try {
        const BlockedSignals blocked;
        thread = std::thread(std::move(work));
    } catch (const std::system_error& error) {
        throw Error(ErrorCode::system,
                    fmt::format("no thread can be made ({}): raise `ulimit -u`", error.what()));
    }
    pthread_setname_np(thread.native_handle(), "lapwing");
    return thread;
}

void place_thread(std::thread& thread, const std::vector<int>& processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (processors.empty() && sched_getaffinity(getpid(), sizeof set, &set) != 0)
        throw Error(ErrorCode::system, fmt::format("sched_getaffinity: {}", std::strerror(errno)));
    for (const int processor : processors) {
        if (processor < 0 || processor >= CPU_SETSIZE)
            throw Error(ErrorCode::invalid_argument, fmt::format("there is no processor {}", processor));
        CPU_SET(processor, &set);
    }
    const int error = pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
    if (error != 0)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("this process may use none of the processors {}: {}; `taskset -cp $$` shows "
                                "those that it may",
                                fmt::join(processors, ","), std::strerror(error)));
}

}  // namespace lapwing
