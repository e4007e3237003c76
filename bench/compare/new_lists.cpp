// The processor time of a list for a shape that was never seen: choice of the engine, building, preparing,
// and eviction. For each algorithm, by the number of ranks; of the ranks 0 and ranks - 1 the one with more
// tasks. Algorithms that know hosts: on hosts of 16 ranks. `blocks`: that the call describes to the rank,
// each with its length.
//   new_lists [SECONDS for each row]
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "collectives/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "plan/planner.hpp"
#include "plan/tuning.hpp"

namespace lapwing {
namespace {

// All messages are complete at once.
class NoLink final : public Link {
  public:
    void send(int, const std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    void recv(int, std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    bool test(Transfer&) override { return true; }
};

Problem problem_of(const Algorithm& algorithm, int ranks, int rank) {
    // Of a vector that is cut there is something for each rank.
    Problem problem = measured_problem(algorithm.collective, ranks, static_cast<std::uint64_t>(ranks) * 8);
    if (!problem.parts.empty()) problem.parts = {problem.parts_of(rank)};
    if (algorithm.knows_hosts) {
        std::vector<std::uint64_t> hosts;
        for (int one = 0; one < ranks; ++one) hosts.push_back(static_cast<std::uint64_t>(one / 16));
        problem.placement = std::make_shared<const Placement>(hosts);
    }
    return problem;
}

// The planner has evicted the plan of a size when that size returns.
constexpr std::uint64_t sizes = 2 * Planner::max_plans;

// Adds to the length of a block.
void resize(Problem& problem, std::uint64_t by) {
    for (Parts& parts : problem.parts) {
        if (!parts.sends.empty()) parts.sends.back().bytes += by;
        if (!parts.receives.empty()) parts.receives.back().bytes += by;
    }
    if (problem.parts.empty()) problem.bytes += by;
}

struct Cost {
    std::uint64_t tasks = 0;
    std::size_t blocks = 0;
    double seconds = 0;  // of one list
};

Cost measure(const Algorithm& algorithm, Problem problem, int rank, double seconds) {
    NoLink link;
    PlanOptions options;
    options.requested =
        RequestedAlgorithms::parse(fmt::format("{}={}", mpi_name(algorithm.collective), algorithm.name));
    Planner planner(rank, {{&host_engine(), [&] { return open_host_group(link); }}}, options);
    const std::uint64_t step = is_reduction(algorithm.collective) ? sizeof(double) : 1;
    const auto run_each_size = [&] {
        std::uint64_t tasks = 0;
        for (std::uint64_t size = 0; size < sizes; ++size) {
            resize(problem, size + 1 < sizes ? step : step - sizes * step);
            tasks = planner.plan(problem).tasks;
        }
        return tasks;
    };
    run_each_size();
    const std::uint64_t began = processor_time();
    std::uint64_t lists = 0;
    Cost cost;
    for (const Parts& parts : problem.parts) cost.blocks += parts.sends.size() + parts.receives.size();
    const auto spent = [began] { return static_cast<double>(processor_time() - began) * 1e-9; };
    for (; spent() < seconds; lists += sizes) cost.tasks = run_each_size();
    cost.seconds = spent() / static_cast<double>(lists);
    return cost;
}

void print_rows(double seconds) {
    fmt::print("{:40} {:>6} {:>7} {:>7} {:>9}  {}\n", "algorithm", "ranks", "tasks", "blocks", "us",
               "us for each task and block");
    for (const Algorithm* algorithm : catalogue()) {
        if (algorithm->collective == Collective::barrier) continue;  // has one shape
        for (const int ranks : {2, 8, 64, 256, 1024}) {
            Cost cost;
            for (const int rank : {0, ranks - 1}) {
                const Problem problem = problem_of(*algorithm, ranks, rank);
                if (!algorithm->applies(problem, default_parameters(*algorithm))) continue;
                const Cost of_rank = measure(*algorithm, problem, rank, seconds);
                if (of_rank.tasks > cost.tasks) cost = of_rank;
            }
            if (cost.tasks == 0) continue;
            fmt::print("{:40} {:6} {:7} {:7} {:9.2f} {:9.3f}\n",
                       fmt::format("{} {}", name(algorithm->collective), algorithm->name), ranks, cost.tasks,
                       cost.blocks, 1e6 * cost.seconds,
                       1e6 * cost.seconds / static_cast<double>(cost.tasks + cost.blocks));
            std::fflush(stdout);
        }
    }
}

}  // namespace
}  // namespace lapwing

int main(int count, char** words) {
    lapwing::print_rows(count > 1 ? std::atof(words[1]) : 0.02);
    return 0;
}
