// Starts a launcher and reads the lines that its job prints; among others of Lapwing's MPI programs, such as
// that of a benchmark.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/common/progress_bar.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

struct LaunchEnd {
    int status = 0;                          // 128 + number of the signal that ended it
    bool timed_out = false;                  // stopped after the limit
    std::vector<std::string> still_running;  // command lines of the launcher's processes, at the limit
    std::chrono::milliseconds time{0};
};

struct LaunchLimits {
    std::optional<std::chrono::milliseconds> total;  // for the whole job
    // From the moment when `complete` returns true. The launcher is then stopped, with the status 0.
    std::optional<std::chrono::milliseconds> grace;
};

// Which streams of the job are read. `output`: standard error and standard input remain the tool's. `both`:
// standard input is empty.
enum class Streams { output, both };

// Calls `take` with each line, and asks `complete` after each read whether the job has printed all that is
// expected. Throws Error (system) if the launcher cannot be started.
LaunchEnd run_with_limits(const Launch& launch, Streams streams, const LaunchLimits& limits,
                          const std::function<void(const std::string&)>& take,
                          const std::function<bool()>& complete = {});

// The path of a program such as "lapwing-bench" for an MPI: in the build tree, or installed with this tool.
// Throws Error (system) if it is not installed.
std::string find_mpi_program(const std::string& program, const MpiFamily& family);

// The status of a launcher whose rank could not load the library of its MPI, and advice for this case.
constexpr int library_missing = 127;
extern const char* const library_missing_advice;

// "no result: the launcher ended with status 1", with advice if there is any.
std::string why_no_result(int status);

// For the header of results: the command line of this tool, and the time, as 2026-05-31T12:00:00Z.
std::vector<std::string> own_command_line();
std::string time_of_day();

struct ProgramJob {
    int status = 0;                        // the launcher's; 128 + number of the signal that ended it
    std::optional<nlohmann::json> result;  // empty if the program ended without a result
};
// Reads lines that begin with the program's name: "lapwing-bench progress SHARE WHAT", "... result JSON" and
// "... report JSON", which becomes the result's member "report". Adds the progress to `bar`, and prints a
// line for each WHAT where that is not visible. Passes other output of the job on to standard error. A job
// that gave its result but does not end within `end_limit` is stopped, and counts as successful: MPICH 4.0
// may hang in MPI_Finalize between hosts. Throws Error (system) when the launcher cannot be started.
ProgramJob run_mpi_program(const Launch& launch, const std::string& program, ProgressBar& bar,
                           std::optional<std::chrono::seconds> end_limit = {});

}  // namespace lapwing::tool
