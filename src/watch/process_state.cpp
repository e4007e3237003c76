#include "watch/process_state.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <sstream>
#include <string>

#include "base/text_file.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::watch {
namespace {

struct Stat {
    char state = '?';
    std::uint64_t start = 0;
};

std::optional<Stat> read_stat(int pid) {
    const std::string line = first_line(fmt::format("/proc/{}/stat", pid));
    // The name of the program, in parentheses, may have parentheses and spaces.
    const std::size_t end = line.rfind(')');
    if (end == std::string::npos) return std::nullopt;
    std::istringstream fields(line.substr(end + 1));
    Stat stat;
    fields >> stat.state;
    std::string skipped;
    for (int field = 4; field < 22; ++field) fields >> skipped;
    fields >> stat.start;
    return stat;
}

}  // namespace

Process this_process() {
    Process process;
    process.pid = ::getpid();
    process.pid_namespace = tcp::process_space();
    if (const auto stat = read_stat(process.pid)) process.start = stat->start;
    return process;
}

ProcessState state_of(const Process& process) {
    if (process.pid <= 0 || process.start == 0 || process.pid_namespace != tcp::process_space())
        return ProcessState::unknown;
    const auto stat = read_stat(process.pid);
    if (!stat) {
        // hidepid: /proc of another user's process does not exist, the process may.
        return ::kill(process.pid, 0) != 0 && errno == ESRCH ? ProcessState::ended : ProcessState::unknown;
    }
    if (stat->start != process.start) return ProcessState::ended;
    switch (stat->state) {
        case 'T':
            return ProcessState::stopped;
        case 't':
            return ProcessState::traced;
        case 'D':
            return ProcessState::blocked;
        case 'Z':
        case 'X':
            return ProcessState::ended;
        default:
            return ProcessState::running;
    }
}

}  // namespace lapwing::watch
