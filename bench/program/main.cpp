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

// Measures the rows on the ranks of bench.world; `begin` and `end`: the share of all that is measured.
void measure_rows(Bench& bench, nlohmann::json& result, double begin, double end) {
    for (const std::string& engine : bench.settings.engines) bench.caller(engine);
    const Benchmark& benchmark = find_benchmark(bench.settings.benchmark);
    if (benchmark.computes) {
        calibrate(bench);
        result["operations_per_second"] = bench.operations_per_second;
    }
    const std::vector<RowGroup> groups = benchmark.groups(bench);
    const double length = (end - begin) / static_cast<double>(groups.size());
    bench.report = [&](double share) { say(bench, fmt::format("progress {:.4f}", begin + share * length)); };
    for (const RowGroup& group : groups) {
        for (nlohmann::json& row : measure(bench, group())) {
            if (!bench.settings.processes.empty())
                row["parameter"] = {{"name", "ranks"}, {"value", bench.ranks}};
            result["rows"].push_back(std::move(row));
        }
        begin += length;
    }
    bench.mesh->sleeping_barrier();
    bench.free_callers();
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
    result["rows"] = nlohmann::json::array();
    const std::vector<int>& processes = bench.settings.processes;
    if (processes.empty()) measure_rows(bench, result, 0, 1);
    for (std::size_t i = 0; i < processes.size(); ++i) {
        if (processes[i] > bench.ranks) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--processes: the job has only {} ranks", bench.ranks));
        }
        const bool takes_part = bench.rank < processes[i];
        Bench part;
        part.settings = bench.settings;
        part.rank = bench.rank;
        part.ranks = processes[i];
        part.oversubscribed = bench.oversubscribed;
        MPI_Comm_split(bench.world, takes_part ? 0 : MPI_UNDEFINED, bench.rank, &part.world);
        if (takes_part) {
            part.mesh = std::make_unique<Mesh>(part.world, bench.settings.interface);
            const auto count = static_cast<double>(processes.size());
            measure_rows(part, result, static_cast<double>(i) / count, static_cast<double>(i + 1) / count);
            MPI_Comm_free(&part.world);
        }
        bench.mesh->sleeping_barrier();
    }
    say(bench, fmt::format("result {}", result.dump()));
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
