// Processes that compete with the ranks: one for each processor that ranks may use, which wakes up at
// a fixed frequency and computes for a short while.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <vector>

namespace lapwing::bench {

class NoiseProcesses {
  public:
    // Collective: of the ranks of a machine the first that may use a processor starts its process. They are
    // paused. Throws Error (system) when one cannot be started.
    NoiseProcesses(MPI_Comm communicator, double frequency_hz, double burst_seconds);
    ~NoiseProcesses();
    NoiseProcesses(const NoiseProcesses&) = delete;
    NoiseProcesses& operator=(const NoiseProcesses&) = delete;

    void go_on();
    void pause();

  private:
    void signal_all(int signal) const;

    std::vector<pid_t> processes_;
};

// What such a process does: main() calls it when the program is started as "noise FREQUENCY BURST PROCESSOR".
// Ends with the rank that started it.
constexpr const char* noise_word = "noise";
[[noreturn]] void make_noise(char** words);

}  // namespace lapwing::bench
