// The MPI program that `lapwing tune` starts to choose by its results. Its argument is the settings as JSON.
// Rank 0 writes lines to standard output that begin with "lapwing-tune ": "progress SHARE WHAT", and at the
// end "result JSON".
#include <fmt/format.h>
#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "base/error.hpp"
#include "program/mpi/job/rank_locations.hpp"
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
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("groups of 2 to {} ranks can be measured here, as {} were started, not of {}",
                                ranks, ranks, size));
    }
    utsname system{};
    uname(&system);
    nlohmann::json result = {
        {"mpi", bench::mpi_version()},
        {"kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
        {"hosts", bench::of_all_ranks(MPI_COMM_WORLD, system.nodename)},
        {"more_ranks_than_processors",
         bench::more_ranks_than_processors(bench::places_of_ranks(MPI_COMM_WORLD))},
        {"copy_seconds_per_byte", copy_seconds_per_byte()},
        {"tables", nlohmann::json::array()}};
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
    int provided = 0;
    MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        if (argument_count != 2) {
            throw lapwing::Error(lapwing::ErrorCode::invalid_argument,
                                 "only `lapwing tune` starts this program");
        }
        lapwing::tune::run(rank, ranks, arguments[1]);
    } catch (const std::exception& error) {
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        fmt::print(stderr, "lapwing tune: rank {} on {}: {}\n", rank, host, error.what());
        std::fflush(nullptr);
        // MPICH's launcher drops what it has not forwarded yet when a rank aborts.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
