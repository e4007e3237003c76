// The MPI program that `lapwing bench` starts. Its argument is the settings as JSON. Rank 0 writes lines to
// standard output that begin with "lapwing-bench ": "progress SHARE", and at the end "result JSON".
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "program/benchmarks.hpp"
#include "program/noise_processes.hpp"
#include "program/ranks.hpp"

namespace lapwing::bench {
namespace {

nlohmann::json surroundings_of(Bench& bench) {
    nlohmann::json found = surroundings();
    bench.oversubscribed = found["more_ranks_than_processors"].get<bool>();
    const std::vector<RankLocation> locations = locations_of_ranks(bench.world);
    std::vector<std::string> processors;
    for (const RankLocation& location : locations) processors.push_back(in_words(location.processors));
    found["ranks"] = bench.ranks;
    found["machines"] = machines_of(locations);
    found["processors"] = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    found["processors_of_ranks"] = processors;
    found["addresses"] = of_all_ranks(bench.world, bench.mesh->address());
    return found;
}

void say(const Bench& bench, const std::string& what) {
    if (bench.rank != 0) return;
    fmt::print("lapwing-bench {}\n", what);
    std::fflush(stdout);
}

void run(Bench& bench, const char* settings) {
    bench.settings = read_settings(settings);
    if (bench.ranks < 2) {
        throw Error(ErrorCode::invalid_argument, "a collective needs at least two ranks: start two or more");
    }
    bench.mesh = std::make_unique<Mesh>(bench.world, bench.settings.interface);
    nlohmann::json result = surroundings_of(bench);
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

    const auto parts = static_cast<double>(groups.size());
    double part = 0;
    bench.report = [&](double share) { say(bench, fmt::format("progress {:.4f}", (part + share) / parts)); };
    result["rows"] = nlohmann::json::array();
    for (const RowGroup& group : groups) {
        for (nlohmann::json& row : measure(bench, group())) result["rows"].push_back(std::move(row));
        ++part;
    }
    bench.mesh->sleeping_barrier();
    say(bench, fmt::format("result {}", result.dump()));
    bench.free_callers();
}

}  // namespace
}  // namespace lapwing::bench

int main(int argument_count, char** arguments) {
    using namespace lapwing::bench;
    if (argument_count == 5 && std::strcmp(arguments[1], noise_word) == 0) make_noise(arguments + 2);
    Bench bench;  // outlives an error: what it closes would make other ranks fail first
    return run_program(argument_count, arguments, "bench", [&](int rank, int ranks, const char* settings) {
        bench.world = MPI_COMM_WORLD;
        bench.rank = rank;
        bench.ranks = ranks;
        run(bench, settings);
    });
}
