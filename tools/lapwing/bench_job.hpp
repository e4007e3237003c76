// Runs the MPI program of a benchmark and reads what its rank 0 says.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lapwing/launch.hpp"
#include "lapwing/mpi_family.hpp"

namespace lapwing::tool {

// The program beside this tool: in a build tree, or where it was installed. Throws Error (system) when it is
// not there.
std::string find_bench_program(const MpiFamily& family);

struct BenchJob {
    int status = 0;                        // the launcher's; 128 + number of the signal that ended it
    std::optional<nlohmann::json> result;  // none when the program ended without one
};
// Shows the progress; passes on to standard error what else the job prints. Throws Error (system) when the
// launcher cannot be started.
BenchJob run_bench(const Launch& launch);

}  // namespace lapwing::tool
