// The MPI program that `lapwing bench` starts. Its argument is the settings as JSON. Rank 0 writes lines to
// standard output that begin with "lapwing-bench ": "progress SHARE", at the end "result JSON", and after
// MPI_Finalize "report JSON", which is Lapwing's report of this job, or null.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "program/benchmarks.hpp"
#include "program/library.hpp"
#include "program/lines.hpp"
#include "program/noise_processes.hpp"
#include "program/ranks.hpp"

namespace lapwing::bench {
namespace {

nlohmann::json surroundings_of(Bench& bench) {
    nlohmann::json found = surroundings(bench.world);
    bench.oversubscribed = found["more_ranks_than_processors"].get<bool>();
    const std::vector<RankLocation> locations = locations_of_ranks(bench.world);
    std::vector<std::string> processors;
    for (const RankLocation& location : locations) processors.push_back(in_words(location.processors));
    found["ranks"] = bench.ranks;
    found["machines"] = machines_of(locations);
    found["processors"] = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    found["processors_of_ranks"] = processors;
    std::vector<double> loaded{is_lapwing_loaded() ? 1.0 : 0.0};
    bench.sum(loaded);
    found["ranks_with_lapwing"] = static_cast<int>(loaded.front());
    return found;
}

// The calls of measured collectives, of all ranks together and of rank 0. Some ranks may have made none.
nlohmann::json calls_of(Bench& bench) {
    nlohmann::json calls = nlohmann::json::object();
    bench.calls[mpi_name(Collective::alltoall)];  // of `connections`
    for (const Collective collective : bench.settings.collectives) bench.calls[mpi_name(collective)];
    for (const auto& [collective, own] : bench.calls) {
        std::vector<double> all{static_cast<double>(own)};
        bench.sum(all);
        if (all.front() == 0) continue;
        calls[collective] = {{"all", static_cast<std::uint64_t>(all.front())}, {"rank_0", own}};
    }
    return calls;
}

void say(const Bench& bench, const std::string& what) {
    if (bench.rank != 0) return;
    fmt::print("lapwing-bench {}\n", what);
    std::fflush(stdout);
}

// Measures the rows on the ranks of bench.world; `begin` and `end`: the share of all that is measured.
void measure_rows(Bench& bench, nlohmann::json& result, double begin, double end) {
    const Benchmark& benchmark = find_benchmark(bench.settings.benchmark);
    if (benchmark.computes) {
        calibrate(bench);
        result["operations_per_second"] = bench.operations_per_second;
    }
    const std::vector<RowGroup> groups = benchmark.groups(bench);
    const double length = (end - begin) / static_cast<double>(groups.size());
    bench.report = [&](double share) { say(bench, fmt::format("progress {:.4f}", begin + share * length)); };
    for (const RowGroup& group : groups) {
        measure(bench, group(), result);
        begin += length;
    }
    bench.mesh->sleeping_barrier();
    bench.free_communicators();
}

void run(Bench& bench, const char* settings) {
    bench.settings = read_settings(settings);
    if (bench.ranks < 2)
        throw Error(ErrorCode::invalid_argument, "a collective needs at least two ranks: start two or more");
    bench.mesh = std::make_unique<Mesh>(bench.world);
    nlohmann::json result = surroundings_of(bench);
    Compute& compute = bench.settings.compute;
    if (compute == Compute::automatic) compute = bench.oversubscribed ? Compute::sleep : Compute::work;
    result["compute"] = name(compute);
    result["rows"] = nlohmann::json::array();
    result["work"] = nlohmann::json::object();
    const std::vector<int>& processes = bench.settings.processes;
    if (processes.empty()) measure_rows(bench, result, 0, 1);
    for (std::size_t i = 0; i < processes.size(); ++i) {
        if (processes[i] > bench.ranks) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--processes: the job has only {} ranks", bench.ranks));
        }
        const bool takes_part = bench.rank < processes[i];
        const std::size_t first_row = result["rows"].size();
        Bench part;
        part.settings = bench.settings;
        part.rank = bench.rank;
        part.ranks = processes[i];
        part.oversubscribed = bench.oversubscribed;
        MPI_Comm ranks = MPI_COMM_NULL;
        MPI_Comm_split(bench.world, takes_part ? 0 : MPI_UNDEFINED, bench.rank, &ranks);
        if (takes_part) {
            part.world = duplicate_for(ranks, "mpi", "");
            part.mesh = std::make_unique<Mesh>(part.world);
            const auto count = static_cast<double>(processes.size());
            measure_rows(part, result, static_cast<double>(i) / count, static_cast<double>(i + 1) / count);
            MPI_Comm_free(&part.world);
            MPI_Comm_free(&ranks);
        }
        for (const auto& [collective, calls] : part.calls) bench.calls[collective] += calls;
        for (std::size_t row = first_row; row < result["rows"].size(); ++row)
            result["rows"][row]["parameter"] = parameter("ranks", part.ranks);
        bench.mesh->sleeping_barrier();
    }
    result["calls"] = calls_of(bench);
    say(bench, fmt::format("result {}", result.dump()));
}

}  // namespace
}  // namespace lapwing::bench

int main(int argument_count, char** arguments) {
    using namespace lapwing::bench;
    if (argument_count == 5 && std::strcmp(arguments[1], noise_word) == 0) make_noise(arguments + 2);
    const ReportPipe report;
    Bench bench;  // outlives an error: what it closes would make other ranks fail first
    run_program(argument_count, arguments, "bench", [&](int rank, int ranks, const char* settings) {
        bench.world = duplicate_for(MPI_COMM_WORLD, "mpi", "");
        bench.rank = rank;
        bench.ranks = ranks;
        run(bench, settings);
    });
    say(bench, fmt::format("report {}", report.read().dump()));
    return 0;
}
