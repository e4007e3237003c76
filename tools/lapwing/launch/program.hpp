// Runs one of Lapwing's MPI programs, such as that of a benchmark, and reads the output of its rank 0.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/launch/launch.hpp"
#include "lapwing/mpi/family.hpp"

namespace lapwing::tool {

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
// Reads lines that begin with the program's name: "lapwing-bench progress SHARE WHAT" and "... result
// JSON". Shows the progress, as a bar on a terminal; elsewhere as a line for each WHAT. Passes other
// output of the job on to standard error. A job that gave its result but does not end within `end_limit` is
// stopped, and counts as successful: MPICH 4.0 may hang in MPI_Finalize between hosts. Throws
// Error (system) when the launcher cannot be started.
ProgramJob run_mpi_program(const Launch& launch, const std::string& program,
                           std::optional<std::chrono::seconds> end_limit = {});

}  // namespace lapwing::tool
