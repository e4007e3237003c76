// The state of a process of this host, as Linux reports it in /proc.
#pragma once

#include <cstdint>

namespace lapwing::watch {

struct Process {
    std::int32_t pid = 0;
    std::uint64_t start = 0;          // in clock ticks after the host's start: pids are used again
    std::uint64_t pid_namespace = 0;  // pids are of one namespace
};

enum class ProcessState : std::uint8_t {
    unknown,  // it cannot be read: the process is in another pid namespace
    running,  // or asleep
    blocked,  // inside the kernel, where signals do not reach it
    stopped,  // by a signal
    traced,   // by a debugger
    ended,
};

Process this_process();
ProcessState state_of(const Process& process);

}  // namespace lapwing::watch
