// How many messages a second the simulation of lists takes.
#include <benchmark/benchmark.h>

#include "collectives/catalogue.hpp"
#include "simulate/networks/networks.hpp"
#include "simulate/simulation.hpp"

namespace lapwing::simulate {
namespace {

void run(benchmark::State& state, const Problem& problem, const char* algorithm, const Setting& setting) {
    const Lists lists = make_lists(problem, parse_choice(problem.collective, algorithm));
    for (auto _ : state) benchmark::DoNotOptimize(simulate(lists, setting).end());
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(lists.messages()) *
                            setting.program.iterations);
}

const Problem barrier{.collective = Collective::barrier, .ranks = 16384};
const Problem allreduce{
    .collective = Collective::allreduce, .ranks = 16384, .bytes = 8, .type = Type::float64};
const Problem alltoall{.collective = Collective::alltoall, .ranks = 512, .bytes = 4096};

Setting quiet() {
    return {.parameters = parameters_of(Machine{})};
}

void worklist(benchmark::State& state) {
    run(state, barrier, "recursive_doubling", quiet());
}
BENCHMARK(worklist)->Unit(benchmark::kMillisecond);

void worklist_with_noise(benchmark::State& state) {
    Setting setting = quiet();
    setting.noise = {
        .kind = Noise::Kind::poisson, .period = from_seconds(1e-2), .length = from_seconds(2.5e-4)};
    setting.program = {.iterations = 10, .work = from_seconds(1e-4)};
    run(state, barrier, "recursive_doubling", setting);
}
BENCHMARK(worklist_with_noise)->Unit(benchmark::kMillisecond);

void queue(benchmark::State& state) {
    run(state, allreduce, "recursive_doubling", quiet());
}
BENCHMARK(queue)->Unit(benchmark::kMillisecond);

void queue_on_a_torus(benchmark::State& state) {
    const auto torus = grid({8, 8, 8}, true, 1, 100 * nanosecond);
    Setting setting = quiet();
    setting.network = torus.get();
    run(state, alltoall, "pairwise", setting);
}
BENCHMARK(queue_on_a_torus)->Unit(benchmark::kMillisecond);

void queue_on_a_fat_tree(benchmark::State& state) {
    const auto tree = fat_tree({8, 8, 8}, {1, 8, 8}, 1, 100 * nanosecond);
    Setting setting = quiet();
    setting.network = tree.get();
    run(state, alltoall, "pairwise", setting);
}
BENCHMARK(queue_on_a_fat_tree)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lapwing::simulate
