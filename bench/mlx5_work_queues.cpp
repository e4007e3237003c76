// What it costs to start a list on a card: rank 0 of a barrier of 64 ranks, on the emulator of a card. Bells
// are memory here and the double runs when the clock has stopped, so a start is what the engine itself does.
// Prints the number of requests, and the median time of a start, for each variant of work queues.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "collectives/catalogue.hpp"
#include "engines/mlx5/doubles/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/process/process_link.hpp"

namespace lapwing {
namespace {

using mlx5_double::DoubleDevice;
using mlx5_double::Drive;

constexpr int ranks = 64;
constexpr int starts = 500;
constexpr int first_starts = 50;  // connect, and go once around caches and predictors

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
        for (const WorkQueue& queue : lower_to_work_queues(build(problem, 0, choice), variant).queues)
            requests_ += queue.requests.size();
    }

    // Nanoseconds of a start.
    double run() {
        for (int rank = 1; rank < ranks; ++rank) start(rank);
        const auto begin = std::chrono::steady_clock::now();
        start(0);
        const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
        for (int left = ranks; left > 0;) {
            all_[0].card->ring_bells();
            for (Rank& rank : all_) {
                rank.card->card().round();
                if (rank.operation == nullptr || !rank.prepared->test(rank.operation)) continue;
                rank.operation = nullptr;
                --left;
            }
        }
        return taken.count();
    }
    std::size_t requests() const { return requests_; }

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
    std::size_t requests_ = 0;
};

}  // namespace
}  // namespace lapwing

int main() {
    using namespace lapwing;
    for (const WorkVariant& variant : work_variants()) {
        Barrier barrier(variant);
        for (int time = 0; time < first_starts; ++time) barrier.run();
        std::vector<double> times;
        for (int time = 0; time < starts; ++time) times.push_back(barrier.run());
        std::sort(times.begin(), times.end());
        fmt::print("{}: {} requests, {:.0f} ns\n", variant.name, barrier.requests(), times[starts / 2]);
    }
}
