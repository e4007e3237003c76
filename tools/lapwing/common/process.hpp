// Other programs, started without a shell.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::tool {

// A file in memory. Unlike a pipe it never fills up, so neither side waits for the other.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view content = {});
    ~MemoryFile();
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    int descriptor() const { return descriptor_; }
    std::string content() const;

  private:
    int descriptor_;
};

struct Finished {
    int status = 0;  // the exit status; 128 + number of the signal that ended it
    bool timed_out = false;
    std::string out;
    std::string err;
};

// Runs words[0], found on PATH, with `input` on standard input, and waits for it. Kills it after `limit`.
// Throws Error (system) if it cannot be started.
Finished run_program(const std::vector<std::string>& words, std::string_view input,
                     std::chrono::milliseconds limit);

// Waits for the end of a child process. Returns its exit status, or 128 + the number of the signal that ended
// it.
int wait_for(pid_t process);

// The processes of this host, from /proc.
struct RunningProcess {
    pid_t id;
    pid_t parent;
    pid_t group;
};
std::vector<RunningProcess> all_processes();
// The descendants of a process.
std::vector<pid_t> processes_below(pid_t process);

// The path of a program on PATH; a name with a slash is a path already. Nothing if it is not an executable.
std::optional<std::string> find_program(const std::string& name);

// The same; throws Error (invalid_argument) if there is no such program.
std::string require_program(const std::string& name);

// Of the words, for exec functions; as long as the words live.
std::vector<char*> pointers(const std::vector<std::string>& words);

// A word of a shell command: quoted if necessary.
std::string quote(std::string_view word);

}  // namespace lapwing::tool
