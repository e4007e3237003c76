// What lists cost: to build one rank's, to find a plan again, to start it.
#include <benchmark/benchmark.h>

#include "collectives/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "plan/planner.hpp"

namespace lapwing {
namespace {

void build_one(benchmark::State& state, const Problem& problem, const char* algorithm, int rank) {
    const Choice choice = parse_choice(problem.collective, algorithm);
    std::size_t tasks = 0;
    for (auto _ : state) {
        const List list = build(problem, rank, choice);
        tasks = list.tasks.size();
        benchmark::DoNotOptimize(list.tasks.data());
    }
    state.counters["tasks"] = static_cast<double>(tasks);
}

BENCHMARK_CAPTURE(build_one, barrier_recursive_doubling_1048576_ranks,
                  Problem{.collective = Collective::barrier, .ranks = 1 << 20}, "recursive_doubling",
                  123'456);
BENCHMARK_CAPTURE(build_one, barrier_dissemination_1048576_ranks,
                  Problem{.collective = Collective::barrier, .ranks = 1 << 20}, "dissemination", 123'456);
BENCHMARK_CAPTURE(build_one, alltoall_pairwise_1024_ranks,
                  Problem{.collective = Collective::alltoall, .ranks = 1024, .bytes = 8}, "pairwise", 77);
BENCHMARK_CAPTURE(build_one, alltoall_flat_1024_ranks,
                  Problem{.collective = Collective::alltoall, .ranks = 1024, .bytes = 8}, "flat", 77);
BENCHMARK_CAPTURE(build_one, alltoall_bruck_1024_ranks,
                  Problem{.collective = Collective::alltoall, .ranks = 1024, .bytes = 8}, "bruck", 77);
BENCHMARK_CAPTURE(build_one, broadcast_binomial_1048576_ranks,
                  Problem{.collective = Collective::broadcast, .ranks = 1 << 20, .bytes = 8}, "binomial",
                  1 << 19);
BENCHMARK_CAPTURE(build_one, gather_binomial_1048576_ranks,
                  Problem{.collective = Collective::gather, .ranks = 1 << 20, .bytes = 8}, "binomial",
                  1 << 19);

// A link that moves nothing: what remains is the engine's and the plan's own work.
class NoLink : public Link {
  public:
    const char* name() const override { return "none"; }
    bool ready() override { return true; }
    void send(int, const std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    void recv(int, std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    bool test(Transfer&) override { return true; }
};

const Problem small_alltoall{.collective = Collective::alltoall, .ranks = 4, .bytes = 8};

void engine_alone(benchmark::State& state) {
    NoLink link;
    const auto prepared = open_host_group(link)->prepare(
        small_alltoall, build(small_alltoall, 0, parse_choice(Collective::alltoall, "flat")), {});
    std::byte in[32]{};
    std::byte out[32];
    std::uint32_t channel = 0;
    for (auto _ : state) {
        Operation* operation = prepared->start({in, out}, channel++);
        while (!prepared->test(operation)) {
        }
    }
}
BENCHMARK(engine_alone);

void cached_start(benchmark::State& state) {
    NoLink link;
    const PlanOptions options;
    Planner planner(0, {{&host_engine(), [&] { return open_host_group(link); }}}, options);
    std::byte in[32]{};
    std::byte out[32];
    std::uint32_t channel = 0;
    for (auto _ : state) {
        Prepared& prepared = *planner.plan(small_alltoall).prepared;
        Operation* operation = prepared.start({in, out}, channel++);
        while (!prepared.test(operation)) {
        }
    }
}
BENCHMARK(cached_start);

// The same among 64 other problems in turn: every call looks in the table.
void cached_start_among_64(benchmark::State& state) {
    NoLink link;
    const PlanOptions options;
    Planner planner(0, {{&host_engine(), [&] { return open_host_group(link); }}}, options);
    std::vector<std::byte> in(4 * 64 * 8);
    std::vector<std::byte> out(4 * 64 * 8);
    std::uint32_t channel = 0;
    for (auto _ : state) {
        Problem problem = small_alltoall;
        problem.bytes = 8 + 8 * (channel % 63);
        Prepared& prepared = *planner.plan(problem).prepared;
        Operation* operation = prepared.start({in.data(), out.data()}, channel++);
        while (!prepared.test(operation)) {
        }
    }
}
BENCHMARK(cached_start_among_64);

}  // namespace
}  // namespace lapwing
