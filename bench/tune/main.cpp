// The MPI program that `lapwing tune` starts to choose by its results. Its argument is the settings as JSON.
// Rank 0 writes lines to standard output that begin with "lapwing-tune ": "progress SHARE WHAT", and at the
// end "result JSON".
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>

#include "base/error.hpp"
#include "program/ranks.hpp"
#include "tune/tuning_run.hpp"

namespace lapwing::tune {
namespace {

void say(const std::string& what) {
    fmt::print("lapwing-tune {}\n", what);
    std::fflush(stdout);
}

void run(int rank, int ranks, const char* argument) {
    Settings settings = read_settings(argument);
    if (settings.ranks.empty()) settings.ranks = {ranks};
    for (const int size : settings.ranks) {
        if (size >= 2 && size <= ranks) continue;
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("--ranks {2}: must be 2 to {0}, because the job has {1} ranks", ranks, ranks, size));
    }
    nlohmann::json result = bench::surroundings();
    result["copy_seconds_per_byte"] = copy_seconds_per_byte();
    result["tables"] = nlohmann::json::array();
    Budget budget(settings.seconds,
                  settings.ranks.size() * settings.engines.size() * cases_of(settings).size());
    bench::Mesh all(MPI_COMM_WORLD, "");
    for (const int size : settings.ranks) {
        MPI_Comm members = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, rank, &members);
        if (members != MPI_COMM_NULL) {
            {
                TuningRun run_of_members(members, settings, budget, say);
                for (const std::string& engine : settings.engines)
                    result["tables"].push_back(run_of_members.measure(engine));
            }
            MPI_Comm_free(&members);
        }
        all.sleeping_barrier();  // the others sleep meanwhile
    }
    if (rank == 0) say(fmt::format("result {}", result.dump()));
}

}  // namespace
}  // namespace lapwing::tune

int main(int argument_count, char** arguments) {
    return lapwing::bench::run_program(argument_count, arguments, "tune", lapwing::tune::run);
}
