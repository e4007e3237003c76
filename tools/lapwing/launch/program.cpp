#include "lapwing/launch/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "lapwing/common/progress_bar.hpp"

namespace lapwing::tool {
namespace {

constexpr int cannot_start = 127;

[[noreturn]] void refuse(const char* what) {
    throw Error(ErrorCode::system, fmt::format("{}: {}", what, std::strerror(errno)));
}

// In the child: becomes the launcher, which ends when the tool does.
[[noreturn]] void become(const Launch& launch, pid_t tool, int output) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != tool) _exit(cannot_start);
    dup2(output, STDOUT_FILENO);
    try {
        execute(launch);
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing: {}\n", error.what());
        std::fflush(stderr);
    }
    _exit(cannot_start);
}

class Reader {
  public:
    explicit Reader(const std::string& program)
        : progress_(program + " progress "), result_of_(program + " result ") {}

    void take(const std::string& line) {
        if (line.starts_with(progress_)) {
            const double share = std::atof(line.c_str() + progress_.size());
            const std::size_t what = line.find(' ', progress_.size());
            if (what != std::string::npos && !bar_.visible())
                fmt::print(stderr, "{:3.0f} %{}\n", share * 100, line.substr(what));
            bar_.advance(share - done_);
            done_ = share;
        } else if (line.starts_with(result_of_)) {
            result_ = nlohmann::json::parse(line.substr(result_of_.size()), nullptr, false);
            if (result_->is_discarded()) result_.reset();
        } else {
            fmt::print(stderr, "{}\n", line);
        }
    }
    bool has_result() const { return result_.has_value(); }
    std::optional<nlohmann::json> result() { return std::move(result_); }

  private:
    std::string progress_;
    std::string result_of_;
    ProgressBar bar_{1};
    double done_ = 0;
    std::optional<nlohmann::json> result_;
};

// Whether there is something to read, or an end, within so much time.
bool wait_for_input(int descriptor, std::chrono::milliseconds limit) {
    pollfd ready{descriptor, POLLIN, 0};
    return poll(&ready, 1, static_cast<int>(limit.count())) != 0;
}

}  // namespace

std::string find_mpi_program(const std::string& program, const MpiFamily& family) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string name = fmt::format("{}-{}", program, family.name);
    std::vector<std::string> searched;
    for (const char* directory : {LAPWING_INSTALL_LIBEXECDIR, "libexec"}) {
        const auto place = (bin.parent_path() / directory / "lapwing").lexically_normal();
        if (!searched.empty() && searched.back() == place) continue;
        searched.push_back(place);
        const std::filesystem::path found = place / name;
        if (access(found.c_str(), X_OK) == 0) return found;
    }
    throw Error(
        ErrorCode::system,
        fmt::format(
            "{} is not installed: looked in {}. To have it, build Lapwing (make build) where the MPI's "
            "compiler wrapper, mpicc, is installed",
            name, fmt::join(searched, ", ")));
}

const char* const library_missing_advice =
    "Lapwing's programs find no MPI library of the name that they are linked to. Debian's MPICH is "
    "libmpich.so.12 and needs Lapwing's Debian packages, or a build from source; the wheel's programs need "
    "libmpi.so.12 (other MPICHs, Intel MPI) or libmpi.so.40 (Open MPI), perhaps by LD_LIBRARY_PATH";

std::string why_no_result(int status) {
    std::string text = fmt::format("no result; the launcher ended with status {}", status);
    if (status == library_missing)
        text += fmt::format(". If a shared library is missing, above: {}", library_missing_advice);
    return text;
}

std::vector<std::string> own_command_line() {
    std::vector<std::string> words;
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words;
}

std::string time_of_day() {
    const std::time_t moment = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&moment, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

ProgramJob run_mpi_program(const Launch& launch, const std::string& program,
                           std::optional<std::chrono::seconds> end_limit) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) refuse("pipe");
    std::fflush(nullptr);
    const pid_t tool = getpid();
    const pid_t child = fork();
    if (child < 0) refuse("fork");
    if (child == 0) become(launch, tool, ends[1]);
    close(ends[1]);

    ProgramJob job;
    Reader reader(program);
    std::string line;
    char block[65536];
    int signal = 0;  // that was sent to the launcher
    while (true) {
        if (end_limit && reader.has_result() && !wait_for_input(ends[0], *end_limit)) {
            if (signal == SIGKILL) break;
            signal = signal == 0 ? SIGTERM : SIGKILL;
            kill(child, signal);
            continue;
        }
        const ssize_t length = read(ends[0], block, sizeof block);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) break;
        for (const char c : std::string_view(block, static_cast<std::size_t>(length))) {
            if (c != '\n') {
                line += c;
                continue;
            }
            reader.take(line);
            line.clear();
        }
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    job.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (signal != 0) job.status = 0;
    job.result = reader.result();
    return job;
}

}  // namespace lapwing::tool
