#include "lapwing/launch/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "lapwing/cluster/inside.hpp"

namespace lapwing::tool {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorCode::system, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

int run_job(const Launch& launch) {
    ::signal(SIGCHLD, SIG_DFL);
    sigset_t awaited = handed_signals();
    sigaddset(&awaited, SIGCHLD);
    sigset_t before;
    sigprocmask(SIG_BLOCK, &awaited, &before);
    int failed[2];  // says why nothing was started
    if (pipe2(failed, O_CLOEXEC) != 0) refuse("pipe");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) refuse("fork");
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, nullptr);
        try {
            execute(launch);
        } catch (const std::exception& error) {
            const std::string why = error.what();
            static_cast<void>(!write(failed[1], why.data(), why.size()));
        }
        _exit(127);
    }
    close(failed[1]);
    char why[512];
    const ssize_t length = read(failed[0], why, sizeof why);
    close(failed[0]);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        siginfo_t arrived{};
        const int signal = sigwaitinfo(&awaited, &arrived);
        if (signal > 0 && signal != SIGCHLD && arrived.si_code <= 0) kill(child, signal);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (length > 0) throw Error(ErrorCode::system, std::string(why, static_cast<std::size_t>(length)));
    return status;
}

int end_as(int wait_status) {
    if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
    const int signal = WTERMSIG(wait_status);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::fflush(nullptr);
    ::signal(signal, SIG_DFL);
    raise(signal);
    return 128 + signal;
}

std::string make_parts_directory(const std::string& file) {
    std::string name = file + ".parts-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) refuse(name);
    return name;
}

void require_writable(const std::string& file, const char* what) {
    const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (opened < 0) refuse(fmt::format("{} cannot be written to {}", what, file));
    close(opened);
}

}  // namespace lapwing::tool
