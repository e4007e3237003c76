// The MPI program that `lapwing bench` starts. Its argument is the settings as JSON. Rank 0 writes lines to
// standard output that begin with "lapwing-bench ": "progress SHARE", and at the end "result JSON".
#include <fmt/format.h>
#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "base/error.hpp"
#include "program/benchmarks.hpp"
#include "program/compute/noise_processes.hpp"
#include "program/measure/idle.hpp"
#include "program/mpi/job/rank_locations.hpp"

namespace lapwing::bench {
namespace {

nlohmann::json surroundings(Bench& bench) {
    utsname system{};
    uname(&system);
    const std::vector<Place> places = places_of_ranks(bench.world);
    bench.oversubscribed = more_ranks_than_processors(places);
    std::vector<std::string> processors;
    for (const Place& place : places) processors.push_back(in_words(place.processors));
    return {{"ranks", bench.ranks},
            {"mpi", mpi_version()},
            {"kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
            {"hosts", of_all_ranks(bench.world, system.nodename)},
            {"machines", machines_of(places)},
            {"processors", static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))},
            {"processors_of_ranks", processors},
            {"more_ranks_than_processors", bench.oversubscribed},
            {"addresses", of_all_ranks(bench.world, bench.mesh->address())}};
}

void say(const Bench& bench, const std::string& what) {
    if (bench.rank != 0) return;
    fmt::print("lapwing-bench {}\n", what);
    std::fflush(stdout);
}

void run(Bench& bench, const char* argument) {
    bench.settings = read_settings(argument);
    if (bench.ranks < 2) {
        throw Error(ErrorCode::invalid_argument, "a collective needs at least two ranks; start two or more");
    }
    bench.mesh = std::make_unique<Mesh>(bench.world, bench.settings.interface);
    nlohmann::json result = surroundings(bench);
    Compute& compute = bench.settings.compute;
    if (compute == Compute::automatic) compute = bench.oversubscribed ? Compute::sleep : Compute::work;
    result["compute"] = name(compute);
    for (const std::string& engine : bench.settings.engines) bench.caller(engine);
    const Benchmark& benchmark = find_benchmark(bench.settings.benchmark);
    if (benchmark.computes) {
        calibrate(bench);
        result["operations_per_second"] = bench.operations_per_second;
    }
    const std::vector<RowGroup> groups = benchmark.groups(bench);

    const double parts = static_cast<double>(groups.size()) + (bench.settings.idle ? 1 : 0);
    double part = 0;
    bench.report = [&](double share) { say(bench, fmt::format("progress {:.4f}", (part + share) / parts)); };
    result["rows"] = nlohmann::json::array();
    for (const RowGroup& group : groups) {
        for (nlohmann::json& row : measure(bench, group())) result["rows"].push_back(std::move(row));
        ++part;
    }
    if (bench.settings.idle) result["idle"] = measure_idle(bench);
    bench.mesh->sleeping_barrier();
    bench.plain.reset();
    say(bench, fmt::format("result {}", result.dump()));
    bench.free_callers();
}

}  // namespace
}  // namespace lapwing::bench

int main(int argument_count, char** arguments) {
    using namespace lapwing::bench;
    if (argument_count == 5 && std::strcmp(arguments[1], noise_word) == 0) make_noise(arguments + 2);
    int provided = 0;
    MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
    Bench bench;
    bench.world = MPI_COMM_WORLD;
    MPI_Comm_rank(bench.world, &bench.rank);
    MPI_Comm_size(bench.world, &bench.ranks);
    try {
        if (argument_count != 2) {
            throw lapwing::Error(lapwing::ErrorCode::invalid_argument,
                                 "only `lapwing bench` starts this program");
        }
        run(bench, arguments[1]);
    } catch (const std::exception& error) {
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        fmt::print(stderr, "lapwing bench: rank {} on {}: {}\n", bench.rank, host, error.what());
        std::fflush(nullptr);
        // MPICH's launcher drops what it has not forwarded yet when a rank aborts.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
