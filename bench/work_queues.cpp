// What it costs to start a list on a card: rank 0 of a barrier of 64 ranks, on the double of a card, beside
// the stores alone that such a start must do. Bells are memory here, so nothing of the double is measured.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "engines/doubles/mlx5/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "links/process/process_link.hpp"
#include "task/work_queues.hpp"

namespace lapwing {
namespace {

using Clock = std::chrono::steady_clock;
using mlx5_double::DoubleDevice;
using mlx5_double::Drive;

constexpr int ranks = 64;

struct Rank {
    std::unique_ptr<DoubleDevice> card;
    std::unique_ptr<GroupEngine> group;
    std::unique_ptr<Prepared> prepared;
    Operation* operation = nullptr;
};

class Barrier {
  public:
    explicit Barrier(const WorkVariant& variant)
        : network_(mlx5_double::Network::of_process(ranks)), links_(process_links(ranks, true)), all_(ranks) {
        const Problem problem{.collective = Collective::barrier, .ranks = ranks};
        const Choice choice = parse_choice(Collective::barrier, "dissemination");
        mlx5_double::Rules rules;
        rules.delay = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            Rank& of = all_[static_cast<std::size_t>(rank)];
            of.card = std::make_unique<DoubleDevice>(network_, rules, rank == 0 ? Drive::later : Drive::hand);
            EngineContext context{.messages = links_[static_cast<std::size_t>(rank)].get()};
            context.card = of.card.get();
            context.options.card_variant = &variant;
            of.group = mlx5_engine().open(context);
            of.prepared = of.group->prepare(build(problem, rank, choice));
        }
    }
    // The time of rank 0's start.
    double run() {
        double seconds = 0;
        for (int rank = ranks - 1; rank >= 0; --rank) {
            Rank& of = all_[static_cast<std::size_t>(rank)];
            const auto begin = Clock::now();
            of.operation = of.prepared->start({}, 0);
            seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        }
        for (int left = ranks; left > 0;) {
            all_[0].card->ring_bells();
            for (Rank& rank : all_) {
                rank.card->card().round();
                if (rank.operation == nullptr || !rank.prepared->test(rank.operation)) continue;
                rank.operation = nullptr;
                --left;
            }
        }
        return seconds;
    }
    std::uint64_t requests() const { return all_[0].card->card().requests(); }

  private:
    std::shared_ptr<mlx5_double::Network> network_;
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Rank> all_;
};

void start(benchmark::State& state, const WorkVariant& variant) {
    Barrier barrier(variant);
    for (int lane = 0; lane < 4; ++lane) barrier.run();  // connects
    const std::uint64_t before = barrier.requests();
    for (auto _ : state) state.SetIterationTime(barrier.run());
    state.counters["requests"] =
        static_cast<double>(barrier.requests() - before) / static_cast<double>(state.iterations());
}

// So many requests of 64 bytes, six receives of 16, and for each of six peers a record and a bell.
void stores(benchmark::State& state) {
    constexpr std::size_t peers = 6;
    const auto requests = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> from(requests * mlx5::block_bytes, std::byte{1});
    std::vector<std::byte> to(from.size() * 64);
    std::vector<std::byte> receives(peers * mlx5::receive_bytes * 64);
    volatile std::uint32_t records[peers][2] = {};
    volatile std::uint64_t bells[peers] = {};
    std::uint32_t round = 0;
    for (auto _ : state) {
        const std::size_t at = ++round % 64;
        const auto begin = Clock::now();
        std::memcpy(to.data() + at * from.size(), from.data(), from.size());
        for (std::size_t peer = 0; peer < peers; ++peer) {
            std::memcpy(receives.data() + (at * peers + peer) * mlx5::receive_bytes, from.data(),
                        mlx5::receive_bytes);
            records[peer][0] = round;
            records[peer][1] = round;
            std::atomic_thread_fence(std::memory_order_seq_cst);
            bells[peer] = round;
        }
        state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
        benchmark::DoNotOptimize(to.data());
    }
}
BENCHMARK(stores)->Arg(12)->Arg(18)->Arg(24)->UseManualTime();

}  // namespace
}  // namespace lapwing

int main(int count, char** words) {
    for (const lapwing::WorkVariant& variant : lapwing::work_variants())
        benchmark::RegisterBenchmark((std::string("start/") + std::string(variant.name)).c_str(),
                                     [&variant](benchmark::State& state) { lapwing::start(state, variant); })
            ->UseManualTime();
    benchmark::Initialize(&count, words);
    benchmark::RunSpecifiedBenchmarks();
}
