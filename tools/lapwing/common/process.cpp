#include "lapwing/common/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

// True when the process ended within the limit.
bool ends_within(pid_t process, std::chrono::milliseconds limit) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor < 0) return true;  // the kernel has no such call: wait without a limit
    const auto deadline = std::chrono::steady_clock::now() + limit;
    pollfd ready{descriptor, POLLIN, 0};
    int found = 0;
    do {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        found = poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    } while (found < 0 && errno == EINTR);
    close(descriptor);
    return found > 0;
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
    result.push_back(nullptr);
    return result;
}

MemoryFile::MemoryFile(std::string_view content) : descriptor_(memfd_create("lapwing", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw_system("memfd_create", errno);
    while (!content.empty()) {
        const ssize_t written = write(descriptor_, content.data(), content.size());
        if (written < 0) throw_system("cannot write to memory", errno);
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    lseek(descriptor_, 0, SEEK_SET);
}

MemoryFile::~MemoryFile() {
    close(descriptor_);
}

std::string MemoryFile::content() const {
    std::string result;
    char block[65536];
    ssize_t bytes = 0;
    while ((bytes = pread(descriptor_, block, sizeof block, static_cast<off_t>(result.size()))) > 0) {
        result.append(block, static_cast<std::size_t>(bytes));
    }
    return result;
}

Finished run_program(const std::vector<std::string>& words, std::string_view input,
                     std::chrono::milliseconds limit) {
    const MemoryFile in(input);
    const MemoryFile out;
    const MemoryFile err;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in.descriptor(), 0);
    posix_spawn_file_actions_adddup2(&actions, out.descriptor(), 1);
    posix_spawn_file_actions_adddup2(&actions, err.descriptor(), 2);
    // A process group of its own, so that its children end with it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t process = -1;
    const int error =
        posix_spawnp(&process, words.front().c_str(), &actions, &attributes, pointers(words).data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) throw_system(words.front(), error);

    Finished finished;
    finished.timed_out = !ends_within(process, limit);
    if (finished.timed_out) kill(-process, SIGKILL);
    finished.status = wait_for(process);
    finished.out = out.content();
    finished.err = err.content();
    return finished;
}

int wait_for(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<RunningProcess> all_processes() {
    std::vector<RunningProcess> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string line = first_line(entry.path() / "stat");
        if (line.empty()) continue;
        RunningProcess process{std::atoi(line.c_str()), 0, 0};
        // "7 (name, which may have any character) S 1 7 ..."
        const std::size_t name_end = std::min(line.rfind(')'), line.size() - 1);
        if (std::sscanf(line.c_str() + name_end + 1, " %*c %d %d", &process.parent, &process.group) == 2)
            found.push_back(process);
    }
    return found;
}

std::vector<pid_t> processes_below(pid_t process) {
    const std::vector<RunningProcess> all = all_processes();
    std::vector<pid_t> below = {process};
    for (std::size_t i = 0; i < below.size(); ++i) {
        for (const RunningProcess& one : all) {
            if (one.parent == below[i]) below.push_back(one.id);
        }
    }
    below.erase(below.begin());
    return below;
}

std::optional<std::string> find_program(const std::string& name) {
    const auto executable = [](const std::string& path) {
        struct stat status {};
        return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
    };
    if (name.find('/') != std::string::npos) return executable(name) ? std::optional(name) : std::nullopt;
    const char* path = std::getenv("PATH");
    for (const std::string& directory : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
        const std::string candidate = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
        if (executable(candidate)) return candidate;
    }
    return std::nullopt;
}

std::string require_program(const std::string& name) {
    if (const std::optional<std::string> path = find_program(name)) return *path;
    throw_invalid(
        fmt::format("'{}' is not a program{}", name, name.find('/') == std::string::npos ? " on PATH" : ""));
}

std::string quote(std::string_view word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
    std::string result = "'";
    for (const char c : word) {
        if (c == '\'') {
            result += "'\\''";
        } else {
            result += c;
        }
    }
    return result + "'";
}

}  // namespace lapwing::tool
