// Child processes and signals beside Lapwing's thread.
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "computing/exchange.hpp"

extern char** environ;

namespace computing {
namespace {

int pipe_of_child = -1;
void write_at_exit() {
    if (pipe_of_child >= 0 && ::write(pipe_of_child, "x", 1) != 1) std::abort();
}

void children() {
    std::atexit(write_at_exit);
    for (int kind = 0; kind < 4; ++kind) {
        Exchange exchange;
        exchange.start('a');
        int status = -1;
        if (kind == 0) {
            int ends[2];
            check(::pipe(ends) == 0, "pipe");
            const pid_t child = ::fork();
            if (child == 0) {
                pipe_of_child = ends[1];
                std::exit(0);
            }
            ::close(ends[1]);
            char byte = 0;
            check(::read(ends[0], &byte, 1) == 1 && byte == 'x', "the child's handlers have not run");
            ::close(ends[0]);
            ::waitpid(child, &status, 0);
        } else if (kind == 1) {
            status = std::system("exit 0");
        } else if (kind == 2) {
            FILE* const output = ::popen("echo child", "r");
            char line[16] = "";
            check(std::fgets(line, sizeof line, output) != nullptr && std::strcmp(line, "child\n") == 0,
                  "popen");
            status = ::pclose(output);
        } else {
            pid_t child = 0;
            char program[] = "/bin/true";
            char* const words[] = {program, nullptr};
            check(::posix_spawn(&child, program, nullptr, nullptr, words, environ) == 0, "posix_spawn");
            ::waitpid(child, &status, 0);
        }
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's exit status");
        exchange.watch();
        exchange.wait();
    }
}

std::atomic<int> in_program{0};
std::atomic<int> in_lapwing{0};

// The MPI's own threads, too, receive signals.
void note_signal(int) {
    char name[16] = "";
    ::prctl(PR_GET_NAME, name);
    ++(std::strstr(name, "lapwing") == nullptr ? in_program : in_lapwing);
}
void signals() {
    std::signal(SIGUSR1, note_signal);
    std::signal(SIGPROF, note_signal);
    const itimerval often = {{0, 1'000}, {0, 1'000}};
    ::setitimer(ITIMER_PROF, &often, nullptr);
    for (int round = 0; round < 3; ++round) {
        Exchange exchange;
        exchange.start('a');
        exchange.watch();
        for (int i = 0; i < 20; ++i) {
            ::kill(::getpid(), SIGUSR1);
            compute(std::chrono::milliseconds(1));
        }
        exchange.wait();
    }
    const itimerval never = {};
    ::setitimer(ITIMER_PROF, &never, nullptr);
    check(in_program >= 20 && in_lapwing == 0, "signals reached a thread of Lapwing");
}

}  // namespace

Parts processes() {
    return {{"children", children}, {"signals", signals}};
}

}  // namespace computing
