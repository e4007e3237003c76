#include "links/event/thread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace lapwing {

std::thread start_thread(std::function<void()> work) {
    // A thread inherits the mask of its maker.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread;
    try {
        thread = std::thread(std::move(work));
    } catch (const std::system_error& error) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw Error(ErrorCode::system,
                    fmt::format("no thread can be made ({}): raise `ulimit -u`", error.what()));
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
