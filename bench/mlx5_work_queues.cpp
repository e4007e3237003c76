// What it costs to start a list on a card: rank 0 of a barrier of 64 ranks, on the emulator of a card. Bells
// are memory here and the double runs when the clock has stopped, so a start is what the engine itself does.
//
// Beside each start the stores alone are timed that it cannot do without: requests, receives, records and
// bells, into rings like those of the card, with caches as cold as a start finds them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "engines/mlx5/doubles/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/requests.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/process/process_link.hpp"

namespace lapwing {
namespace {

using Clock = std::chrono::steady_clock;
using mlx5_double::DoubleDevice;
using mlx5_double::Drive;

constexpr int ranks = 64;
constexpr int starts = 500;
constexpr int first_starts = 50;  // connect, and go once around caches and predictors

double nanoseconds(Clock::duration time) {
    return std::chrono::duration<double, std::nano>(time).count();
}

// The stores of a start, and nothing else.
class Stores {
  public:
    explicit Stores(const WorkQueues& queues) {
        for (const WorkQueue& of : queues.queues) {
            if (of.requests.empty() && of.receives.empty()) continue;
            Ring& ring = rings_.emplace_back();
            for (const WorkRequest& request : of.requests) {
                ring.encoded.resize(ring.encoded.size() + mlx5::block_bytes);
                mlx5::put_request(ring.encoded.data() + ring.encoded.size() - mlx5::block_bytes, request, {});
            }
            const bool last = &of == &queues.queues[queues.management()];
            ring.requests = of.requests.size();
            ring.receives = of.receives.size();
            ring.rings_bell = !of.requests.empty() && (!queues.variant.management || last);
        }
    }

    void all() {
        for (Ring& ring : rings_) {
            for (std::size_t at = 0; at < ring.receives; ++at, ++ring.received)
                std::memcpy(ring.receive.data() + ring.received % depth * mlx5::receive_bytes,
                            ring.encoded.data(), mlx5::receive_bytes);
            if (ring.receives > 0) ring.record[0] = static_cast<std::uint32_t>(ring.received);
        }
        for (Ring& ring : rings_) {
            for (std::size_t at = 0; at < ring.requests; ++at, ++ring.sent) {
                std::byte* const block = ring.send.data() + ring.sent % depth * mlx5::block_bytes;
                std::memcpy(block, ring.encoded.data() + at * mlx5::block_bytes, mlx5::block_bytes);
                const auto index = static_cast<std::uint16_t>(ring.sent);
                std::memcpy(block + 1, &index, sizeof index);
            }
            if (!ring.rings_bell) continue;
            ring.record[1] = static_cast<std::uint32_t>(ring.sent);
            __sync_synchronize();
            ring.bell = ring.sent;
        }
    }

  private:
    static constexpr std::size_t depth = 1024;
    struct Ring {
        std::vector<std::byte> send = std::vector<std::byte>(depth * mlx5::block_bytes);
        std::vector<std::byte> receive = std::vector<std::byte>(depth * mlx5::receive_bytes);
        std::vector<std::byte> encoded;
        std::size_t requests = 0, receives = 0;
        std::size_t sent = 0, received = 0;
        bool rings_bell = false;
        alignas(64) volatile std::uint32_t record[2] = {};
        alignas(64) volatile std::uint64_t bell = 0;
    };
    std::vector<Ring> rings_;
};

class Barrier {
  public:
    explicit Barrier(const WorkVariant& variant)
        : network_(mlx5_double::Network::of_process(ranks)), links_(process_links(ranks, true)), all_(ranks) {
        const Problem problem{.collective = Collective::barrier, .ranks = ranks};
        const Choice choice = parse_choice(Collective::barrier, "recursive_doubling");
        mlx5_double::Rules rules;
        rules.delay = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            Rank& of = all_[static_cast<std::size_t>(rank)];
            of.card = std::make_unique<DoubleDevice>(network_, rules, rank == 0 ? Drive::later : Drive::hand);
            of.group = open_mlx5_group(*of.card, *links_[static_cast<std::size_t>(rank)], variant);
            of.prepared = of.group->prepare(problem, build(problem, rank, choice), {});
        }
        work_ = lower_to_work_queues(build(problem, 0, choice), variant);
        stores_ = std::make_unique<Stores>(work_);
    }

    struct Times {
        double start, stores;
    };
    Times run() {
        for (int rank = 1; rank < ranks; ++rank) start(rank);
        const auto begin = Clock::now();
        start(0);
        const auto started = Clock::now();
        stores_->all();
        const auto stored = Clock::now();
        for (int left = ranks; left > 0;) {
            all_[0].card->ring_bells();
            for (Rank& rank : all_) {
                rank.card->card().round();
                if (rank.operation == nullptr || !rank.prepared->test(rank.operation)) continue;
                rank.operation = nullptr;
                --left;
            }
        }
        return {nanoseconds(started - begin), nanoseconds(stored - started)};
    }
    double requests() const {
        double count = 0;
        for (const WorkQueue& queue : work_.queues) count += static_cast<double>(queue.requests.size());
        return count;
    }

  private:
    struct Rank {
        std::unique_ptr<DoubleDevice> card;
        std::unique_ptr<GroupEngine> group;
        std::unique_ptr<Prepared> prepared;
        Operation* operation = nullptr;
    };
    // Always on one lane.
    void start(int rank) {
        Rank& of = all_[static_cast<std::size_t>(rank)];
        of.operation = of.prepared->start({}, 0);
    }

    std::shared_ptr<mlx5_double::Network> network_;
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Rank> all_;
    WorkQueues work_;
    std::unique_ptr<Stores> stores_;
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

void start(benchmark::State& state, const WorkVariant& variant) {
    Barrier barrier(variant);
    for (int time = 0; time < first_starts; ++time) barrier.run();
    std::vector<double> all_starts, all_stores, beyond;
    for (auto _ : state) {
        const Barrier::Times times = barrier.run();
        state.SetIterationTime(times.start * 1e-9);
        all_starts.push_back(times.start);
        all_stores.push_back(times.stores);
        beyond.push_back(times.start - times.stores);
    }
    state.counters["requests"] = barrier.requests();
    state.counters["start_ns"] = median(std::move(all_starts));
    state.counters["stores_ns"] = median(std::move(all_stores));
    state.counters["beyond_ns"] = median(std::move(beyond));
}

}  // namespace
}  // namespace lapwing

int main(int count, char** words) {
    for (const lapwing::WorkVariant& variant : lapwing::work_variants()) {
        benchmark::RegisterBenchmark((std::string("start_of_barrier_64_ranks/") + variant.name).c_str(),
                                     [&variant](benchmark::State& state) { lapwing::start(state, variant); })
            ->Iterations(lapwing::starts)
            ->UseManualTime();
    }
    benchmark::Initialize(&count, words);
    benchmark::RunSpecifiedBenchmarks();
}
