#include "lapwing/launch/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "lapwing/cluster/inside.hpp"
#include "lapwing/common/process.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::tool {
namespace {

// Of children that have ended takes the launcher's status; those of others come here because the tool adopts
// what loses its parent.
bool collect(pid_t launcher, int& status) {
    bool ended = false;
    int word = 0;
    pid_t process = 0;
    while ((process = waitpid(-1, &word, WNOHANG)) > 0) {
        if (process != launcher) continue;
        ended = true;
        status = word;
    }
    return ended;
}

std::vector<pid_t> children() {
    std::vector<pid_t> found;
    for (const RunningProcess& process : all_processes()) {
        if (process.parent == getpid()) found.push_back(process.id);
    }
    return found;
}

// To the launcher, and to what it has started in the tool's process group, as a terminal's key would do: a
// script waits for its launcher before it heeds a signal. The group itself may have others, who called the
// tool.
void signal_job(pid_t launcher, int signal) {
    const std::vector<RunningProcess> all = all_processes();
    std::vector<pid_t> job = {launcher};
    for (std::size_t i = 0; i < job.size(); ++i) {
        for (const RunningProcess& process : all) {
            if (process.parent == job[i] && process.group == getpgrp()) job.push_back(process.id);
        }
    }
    for (const pid_t process : job) kill(process, signal);
}

constexpr int signals_that_end_jobs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

bool ends_jobs(int signal) {
    return std::find(std::begin(signals_that_end_jobs), std::end(signals_that_end_jobs), signal) !=
           std::end(signals_that_end_jobs);
}

// A signal that ends jobs and has come, or 0.
int waiting_signal() {
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : signals_that_end_jobs) {
        if (sigismember(&pending, signal) == 1) return signal;
    }
    return 0;
}

// A launcher that dies of a signal may leave its ranks, and a script its launcher: they are told to end, too.
// What then still runs is killed.
void end_what_is_left(const sigset_t& awaited) {
    constexpr int patience = 10;  // seconds
    const timespec second{1, 0};
    std::vector<pid_t> told;
    for (int waited = 0;;) {
        int unused = 0;
        collect(-1, unused);
        const std::vector<pid_t> left = children();
        if (left.empty()) return;
        for (const pid_t process : left) {
            const bool new_one = std::find(told.begin(), told.end(), process) == told.end();
            if (new_one) told.push_back(process);
            if (waited >= patience) {
                kill(process, SIGKILL);
            } else if (new_one) {
                kill(process, SIGTERM);
                kill(process, SIGCONT);  // one that was stopped could not end
            }
        }
        if (sigtimedwait(&awaited, nullptr, &second) < 0) ++waited;
    }
}

// A child that has the signals as they were, and ends when this process is killed, without a chance to end
// it.
pid_t fork_below(const HeldSignals& held) {
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw_system("fork");
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    sigprocmask(SIG_SETMASK, &held.before, nullptr);
    return 0;
}

// Waits for the child and returns its status. Calls on_signal(signal, sent) for each signal; `sent`: another
// process sent it, and not the terminal to all.
template <typename OnSignal>
int wait_for(pid_t child, const HeldSignals& held, OnSignal on_signal) {
    int status = 0;
    while (!collect(child, status)) {
        siginfo_t arrived{};
        const int signal = sigwaitinfo(&held.awaited, &arrived);
        if (signal > 0 && signal != SIGCHLD) on_signal(signal, arrived.si_code <= 0);
    }
    return status;
}

int open_directory(const char* path) {
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Those that no process has locked. File systems without locks of directories keep them. NFS shows the locks
// of this host only.
void remove_abandoned(const std::filesystem::path& prefix) {
    std::error_code ignored;
    const std::string name = prefix.filename().string() + "-";
    for (const auto& entry : std::filesystem::directory_iterator(prefix.parent_path(), ignored)) {
        const std::string one = entry.path().filename();
        if (!one.starts_with(name) || one.size() != name.size() + 6) continue;
        const int opened = open_directory(entry.path().c_str());
        struct stat found {};
        if (opened >= 0 && fstat(opened, &found) == 0 && found.st_uid == geteuid() &&
            flock(opened, LOCK_EX | LOCK_NB) == 0)
            std::filesystem::remove_all(entry.path(), ignored);
        if (opened >= 0) close(opened);
    }
}

}  // namespace

JobDirectory::JobDirectory(const std::string& prefix) {
    const std::string of_host = fmt::format("{}-{}", prefix, tcp::host_name());
    remove_abandoned(of_host);
    struct stat locked {};
    do {  // another tool that removes abandoned ones may be faster than the lock
        path_ = of_host + "-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) throw_system("the ranks' files need " + path_);
        if (lock_ >= 0) close(lock_);
        lock_ = open_directory(path_.c_str());
        flock(lock_, LOCK_SH);
    } while (fstat(lock_, &locked) == 0 && locked.st_nlink == 0);
}

JobDirectory::~JobDirectory() {
    if (!kept_) remove();
    close(lock_);
}

void JobDirectory::remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void leave_guard(std::initializer_list<const JobDirectory*> directories) {
    const HeldSignals held;
    const pid_t child = fork_below(held);
    if (child == 0) return;
    const int status = wait_for(child, held, [&](int signal, bool sent) {
        if (sent) kill(child, signal);
    });
    held.release();
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        for (const JobDirectory* directory : directories)
            if (directory != nullptr) directory->remove();
    _exit(end_as(status));
}

HeldSignals::HeldSignals() : awaited(handed_signals()) {
    ::signal(SIGCHLD, SIG_DFL);
    sigaddset(&awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &awaited, &before);
}

void HeldSignals::release() const {
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

JobEnd run_job(const HeldSignals& held, const Launch& launch, int input, int output) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (const int signal = waiting_signal()) return {signal, signal, 0};
    int failed[2];  // says why nothing was started
    if (pipe2(failed, O_CLOEXEC) != 0) throw_system("pipe");
    const auto started = std::chrono::steady_clock::now();
    const pid_t child = fork_below(held);
    if (child == 0) {
        if (input >= 0) dup2(input, STDIN_FILENO);
        for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
            if (output >= 0) dup2(output, stream);
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
    JobEnd end;
    bool passed = false;
    end.status = wait_for(child, held, [&](int signal, bool sent) {
        if (ends_jobs(signal)) end.signal = signal;
        if (!sent) return;
        if (!ends_jobs(signal)) {
            kill(child, signal);
            return;
        }
        signal_job(child, signal);
        passed = true;
    });
    end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (passed) end_what_is_left(held.awaited);
    if (length > 0) throw Error(ErrorCode::system, std::string(why, static_cast<std::size_t>(length)));
    return end;
}

int run_job(const Launch& launch) {
    const HeldSignals held;
    const JobEnd end = run_job(held, launch, -1, -1);
    // After a signal they stay held: a second one would end the tool before it has seen to the ranks' files.
    if (end.signal == 0) held.release();
    return end.status;
}

int end_as(int wait_status) {
    if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
    const int signal = WTERMSIG(wait_status);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::fflush(nullptr);
    ::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
    return 128 + signal;
}

}  // namespace lapwing::tool
