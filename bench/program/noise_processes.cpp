#include "program/noise_processes.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "program/clock.hpp"
#include "program/compute.hpp"
#include "program/ranks.hpp"

namespace lapwing::bench {

namespace {

extern "C" char** environ;

// Those of this rank that no rank before it on the same machine has.
std::vector<int> own_processors(MPI_Comm communicator) {
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    const std::vector<RankLocation> all = locations_of_ranks(communicator);
    const RankLocation& own = all[static_cast<std::size_t>(rank)];
    std::vector<int> processors;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        const bool taken = std::any_of(all.begin(), all.begin() + rank, [&](const RankLocation& before) {
            return before.machine == own.machine && CPU_ISSET(processor, &before.processors);
        });
        if (CPU_ISSET(processor, &own.processors) && !taken) processors.push_back(processor);
    }
    return processors;
}

pid_t start_process(double frequency_hz, double burst_seconds, int processor) {
    std::vector<std::string> words{"lapwing-bench", noise_word, fmt::format("{}", frequency_hz),
                                   fmt::format("{}", burst_seconds), std::to_string(processor)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // It is no rank and needs no preload library.
    std::vector<char*> variables;
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0) variables.push_back(*variable);
    variables.push_back(nullptr);
    pid_t process = 0;
    const int error =
        posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments.data(), variables.data());
    if (error != 0)
        throw Error(ErrorCode::system, fmt::format("cannot start a noise process: {}", std::strerror(error)));
    // It pauses itself when it is ready.
    int status = 0;
    while (waitpid(process, &status, WUNTRACED) < 0 && errno == EINTR) continue;
    if (!WIFSTOPPED(status))
        throw Error(ErrorCode::system, fmt::format("the noise process on CPU {} ended", processor));
    return process;
}

double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

NoiseProcesses::NoiseProcesses(MPI_Comm communicator, double frequency_hz, double burst_seconds) {
    multiply(1);  // throws here, with the reason, if the processes cannot
    for (const int processor : own_processors(communicator))
        processes_.push_back(start_process(frequency_hz, burst_seconds, processor));
}

NoiseProcesses::~NoiseProcesses() {
    signal_all(SIGKILL);
    for (const pid_t process : processes_)
        while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) continue;
}

void NoiseProcesses::go_on() {
    signal_all(SIGCONT);
}

void NoiseProcesses::pause() {
    signal_all(SIGSTOP);
}

void NoiseProcesses::signal_all(int signal) const {
    for (const pid_t process : processes_) kill(process, signal);
}

void make_noise(char** words) {
    const double period = 1 / std::atof(words[0]);
    const double burst = std::atof(words[1]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(std::atoi(words[2]), &processor);
    if (sched_setaffinity(0, sizeof processor, &processor) != 0) std::exit(1);
    multiply(1);  // loads the library
    raise(SIGSTOP);
    const pid_t rank = getppid();
    double next = now();
    while (getppid() == rank) {
        next += period;
        if (next < now()) next = now();  // after a pause
        sleep_until(next);
        const double end = processor_seconds() + burst;
        while (processor_seconds() < end) multiply(12);
    }
    std::exit(0);
}

}  // namespace lapwing::bench
