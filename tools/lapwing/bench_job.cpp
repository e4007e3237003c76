#include "lapwing/bench_job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "lapwing/progress_bar.hpp"

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
        fmt::print(stderr, "lapwing bench: {}\n", error.what());
        std::fflush(stderr);
    }
    _exit(cannot_start);
}

class Reader {
  public:
    void take(const std::string& line) {
        const std::string_view progress = "lapwing-overlap progress ";
        const std::string_view result = "lapwing-overlap result ";
        if (line.starts_with(progress)) {
            const double share = std::atof(line.c_str() + progress.size());
            bar_.advance(share - done_);
            done_ = share;
        } else if (line.starts_with(result)) {
            result_ = nlohmann::json::parse(line.substr(result.size()), nullptr, false);
            if (result_->is_discarded()) result_.reset();
        } else {
            fmt::print(stderr, "{}\n", line);
        }
    }
    std::optional<nlohmann::json> result() { return std::move(result_); }

  private:
    ProgressBar bar_{1};
    double done_ = 0;
    std::optional<nlohmann::json> result_;
};

}  // namespace

std::string find_bench_program(const MpiFamily& family) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string name = fmt::format("lapwing-overlap-{}", family.name);
    std::vector<std::string> searched;
    for (const char* directory : {LAPWING_INSTALL_LIBEXECDIR, "libexec"}) {
        const auto place = (bin.parent_path() / directory / "lapwing").lexically_normal();
        if (!searched.empty() && searched.back() == place) continue;
        searched.push_back(place);
        const std::filesystem::path program = place / name;
        if (access(program.c_str(), X_OK) == 0) return program;
    }
    throw Error(
        ErrorCode::system,
        fmt::format("{} is not installed: looked in {}; it is built where the MPI's compiler wrapper was "
                    "found",
                    name, fmt::join(searched, ", ")));
}

BenchJob run_bench(const Launch& launch) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) refuse("pipe");
    std::fflush(nullptr);
    const pid_t tool = getpid();
    const pid_t child = fork();
    if (child < 0) refuse("fork");
    if (child == 0) become(launch, tool, ends[1]);
    close(ends[1]);

    BenchJob job;
    Reader reader;
    std::string line;
    char block[65536];
    while (true) {
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
    job.result = reader.result();
    return job;
}

}  // namespace lapwing::tool
