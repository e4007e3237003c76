#include "lapwing/launch/launched.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int cannot_start = 127;
constexpr milliseconds patience_after_signal{1500};

std::string command_line(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
    std::string line;
    for (std::string word; std::getline(file, word, '\0');) line += (line.empty() ? "" : " ") + word;
    return line;
}

class Lines {
  public:
    // `descriptor`: -1 for a stream that is not read.
    Lines(int descriptor, const std::function<void(const std::string&)>& take)
        : descriptor_(descriptor), take_(take), open_(descriptor >= 0) {}
    ~Lines() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;

    int descriptor() const { return open_ ? descriptor_ : -1; }
    bool open() const { return open_; }
    void read_some() {
        char block[65536];
        const ssize_t length = read(descriptor_, block, sizeof block);
        if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
        if (length <= 0) {
            open_ = false;
            if (!line_.empty()) take_(line_);
            return;
        }
        for (const char c : std::string_view(block, static_cast<std::size_t>(length))) {
            if (c != '\n') {
                if (c != '\r') line_ += c;
                continue;
            }
            take_(line_);
            line_.clear();
        }
    }

  private:
    int descriptor_;
    const std::function<void(const std::string&)>& take_;
    bool open_;
    std::string line_;
};

// In the child: becomes the launcher, which ends when the tool does. `errors`: -1 for the tool's own.
[[noreturn]] void become(const Launch& launch, pid_t tool, int output, int errors) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != tool) _exit(cannot_start);
    dup2(output, STDOUT_FILENO);
    if (errors >= 0) {
        dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
        dup2(errors, STDERR_FILENO);
    }
    try {
        execute(launch);
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing: {}\n", error.what());
        std::fflush(stderr);
    }
    _exit(cannot_start);
}

bool has_ended(pid_t process) {
    siginfo_t ended{};
    return waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           ended.si_pid == process;
}

// Sends SIGTERM, on which launchers end their ranks; then kills the launcher and its remaining processes.
void end_launcher(pid_t launcher, std::vector<pid_t> below) {
    const auto ends_in_time = [&] {
        for (const auto end = Clock::now() + patience_after_signal; Clock::now() < end;) {
            if (has_ended(launcher)) return true;
            poll(nullptr, 0, 10);
        }
        return false;
    };
    kill(launcher, SIGTERM);
    if (!ends_in_time()) {
        for (const pid_t process : processes_below(launcher)) {
            if (std::find(below.begin(), below.end(), process) == below.end()) below.push_back(process);
        }
        kill(launcher, SIGKILL);
        for (const pid_t process : below) kill(process, SIGKILL);
    }
}

}  // namespace

LaunchEnd run_with_limits(const Launch& launch, Streams streams, const LaunchLimits& limits,
                          const std::function<void(const std::string&)>& take,
                          const std::function<bool()>& complete) {
    int outputs[2];
    int errors[2] = {-1, -1};
    if (pipe2(outputs, O_CLOEXEC) != 0 || (streams == Streams::both && pipe2(errors, O_CLOEXEC) != 0))
        throw_system("pipe");
    std::fflush(nullptr);
    const auto begin = Clock::now();
    const pid_t tool = getpid();
    const pid_t child = fork();
    if (child < 0) throw_system("fork");
    if (child == 0) become(launch, tool, outputs[1], errors[1]);
    close(outputs[1]);
    if (errors[1] >= 0) close(errors[1]);

    LaunchEnd end;
    bool ended_here = false;
    {
        Lines output(outputs[0], take);
        Lines error(errors[0], take);
        auto deadline = limits.total ? begin + *limits.total : Clock::time_point::max();
        // Rarely, where there is no limit: a benchmark runs meanwhile.
        const milliseconds period(limits.total ? 100 : 1000);
        bool all = false;
        const auto read_for = [&](milliseconds time) {
            pollfd ready[] = {{output.descriptor(), POLLIN, 0}, {error.descriptor(), POLLIN, 0}};
            if (poll(ready, 2, static_cast<int>(time.count())) <= 0) return false;
            if (ready[0].revents != 0) output.read_some();
            if (ready[1].revents != 0) error.read_some();
            return true;
        };
        // A process that the launcher has left behind may keep the pipes open.
        while ((output.open() || error.open()) && !has_ended(child)) {
            if (!all && complete && complete()) {
                all = true;
                if (limits.grace) deadline = std::min(deadline, Clock::now() + *limits.grace);
            }
            const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
            if (left.count() <= 0) {
                end.timed_out = !all;
                ended_here = true;
                break;
            }
            read_for(std::min(left, period));
        }
        if (!ended_here && !has_ended(child)) {
            // The launcher closed its streams and still runs.
            while (!has_ended(child) && Clock::now() < deadline) poll(nullptr, 0, 10);
            ended_here = !has_ended(child);
            end.timed_out = ended_here && !all;
        }
        if (ended_here) {
            const std::vector<pid_t> below = processes_below(child);
            for (const pid_t process : below) {
                const std::string line = command_line(process);
                if (!line.empty()) end.still_running.push_back(line);
            }
            end_launcher(child, below);
        }
        // Output after the launcher was stopped is of no use.
        while (!ended_here && (output.open() || error.open()) && read_for(milliseconds(20))) continue;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (ended_here && !end.timed_out) end.status = 0;
    end.time = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    return end;
}

}  // namespace lapwing::tool
