// Other programs, started without a shell.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::tool {

struct Finished {
    int status = 0;  // the exit status; 128 + number of the signal that ended it
    bool timed_out = false;
    std::string out;
    std::string err;
};

// Runs words[0], looked for on PATH, gives it `input` and waits for its end. After `limit` it is killed.
// Throws Error (system) when it cannot be started.
Finished run_program(const std::vector<std::string>& words, std::string_view input,
                     std::chrono::milliseconds limit);

// What runs on this host, as /proc has it.
struct RunningProcess {
    pid_t id;
    pid_t parent;
    pid_t group;
};
std::vector<RunningProcess> all_processes();
// Those that the process has started, and those that these have, and so on.
std::vector<pid_t> processes_below(pid_t process);

// Where on PATH a program is; a name with a slash is taken as it is. None when there is no such executable.
std::optional<std::string> find_program(const std::string& name);

// As find_program; throws Error (invalid_argument) when there is none.
std::string require_program(const std::string& name);

// A word as a shell reads it: quoted where necessary.
std::string quote(std::string_view word);

}  // namespace lapwing::tool
