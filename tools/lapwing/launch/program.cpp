#include "lapwing/launch/program.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

class Reader {
  public:
    Reader(const std::string& program, ProgressBar& bar)
        : progress_(program + " progress "),
          result_of_(program + " result "),
          report_(program + " report "),
          bar_(bar) {}

    void take(const std::string& line) {
        if (line.starts_with(progress_)) {
            const double share = std::atof(line.c_str() + progress_.size());
            const std::size_t what = line.find(' ', progress_.size());
            if (what != std::string::npos && !bar_.visible())
                print_message("{:3.0f} %{}\n", share * 100, line.substr(what));
            bar_.advance(share - done_);
            done_ = share;
        } else if (line.starts_with(result_of_)) {
            result_ = nlohmann::json::parse(line.substr(result_of_.size()), nullptr, false);
            if (result_->is_discarded()) result_.reset();
        } else if (line.starts_with(report_) && result_) {
            (*result_)["report"] = nlohmann::json::parse(line.substr(report_.size()), nullptr, false);
        } else {
            print_message("{}\n", line);
        }
    }
    bool has_result() const { return result_.has_value(); }
    std::optional<nlohmann::json> result() { return std::move(result_); }

  private:
    std::string progress_;
    std::string result_of_;
    std::string report_;
    ProgressBar& bar_;
    double done_ = 0;
    std::optional<nlohmann::json> result_;
};

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int cannot_start = 127;
constexpr milliseconds patience_after_signal{1500};

// `process`: its number, or "self".
std::vector<std::string> command_line(const std::string& process) {
    std::vector<std::string> words;
    std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words;
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
        print_message("lapwing: {}\n", error.what());
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

std::string find_mpi_program(const std::string& program, const MpiFamily& family) {
    const std::string name = fmt::format("{}-{}", program, family.name);
    std::vector<std::string> searched;
    if (const auto found =
            find_installed({LAPWING_INSTALL_LIBEXECDIR "/lapwing", "libexec/lapwing"}, name, searched, X_OK))
        return *found;
    throw_not_installed(name, searched, family);
}

const char* const library_missing_advice =
    "Lapwing's programs cannot load the MPI library that they are linked to. The programs of the wheel need "
    "libmpi.so.12 (MPICH, Intel MPI) or libmpi.so.40 (Open MPI): add its directory to LD_LIBRARY_PATH. "
    "Debian's "
    "MPICH is libmpich.so.12: use Lapwing's Debian packages, or build from source";

std::string why_no_result(int status) {
    std::string text = fmt::format("no result: the launcher ended with status {}", status);
    if (status == library_missing)
        text +=
            fmt::format(". If a message above names a missing shared library: {}", library_missing_advice);
    return text;
}

std::vector<std::string> own_command_line() {
    return command_line("self");
}

std::string time_of_day() {
    return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
}

ProgramJob run_mpi_program(const Launch& launch, const std::string& program, ProgressBar& bar,
                           std::optional<std::chrono::seconds> end_limit) {
    Reader reader(program, bar);
    const LaunchEnd end = run_with_limits(
        launch, Streams::output, {.total = {}, .grace = end_limit},
        [&](const std::string& line) { reader.take(line); }, [&] { return reader.has_result(); });
    return {end.status, reader.result()};
}

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
        // A process that the launcher has left behind may keep the pipes open; the launcher may have closed
        // them.
        while (!has_ended(child)) {
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
            read_for(std::min(left, output.open() || error.open() ? period : milliseconds(10)));
        }
        if (ended_here) {
            const std::vector<pid_t> below = processes_below(child);
            for (const pid_t process : below) {
                const auto words = command_line(std::to_string(process));
                if (!words.empty()) end.still_running.push_back(fmt::format("{}", fmt::join(words, " ")));
            }
            end_launcher(child, below);
        }
        // Output after the launcher was stopped is of no use.
        while (!ended_here && (output.open() || error.open()) && read_for(milliseconds(20))) continue;
    }
    end.status = wait_for(child);
    if (ended_here && !end.timed_out) end.status = 0;
    end.time = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    return end;
}

}  // namespace lapwing::tool
