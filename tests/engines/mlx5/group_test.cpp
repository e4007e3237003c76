// The mlx5 engine on doubles of cards, rank by rank: one that is ahead of others, or ends; and the memory of
// its queues.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/mlx5/doubles/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/group.hpp"
#include "engines/mlx5/queues.hpp"
#include "engines/mlx5/ranks.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "support/process_link.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using mlx5_double::DoubleDevice;
using mlx5_double::Drive;

// A group whose ranks can end one by one.
class Ranks {
  public:
    Ranks(const Problem& problem, const char* algorithm, const WorkVariant& variant,
          std::chrono::milliseconds keep_alive)
        : network_(mlx5_double::Network::of_process(static_cast<std::uint32_t>(problem.ranks))),
          links_(process_links(problem.ranks, true)) {
        const Choice choice = parse_choice(problem.collective, algorithm);
        mlx5_double::Rules rules;
        rules.strict = variant.management;
        rules.keep_alive = keep_alive;
        for (int rank = 0; rank < problem.ranks; ++rank)
            ranks_.emplace_back(std::make_unique<DoubleDevice>(network_, rules, Drive::hand),
                                *links_[static_cast<std::size_t>(rank)], variant, problem, rank, choice);
    }
    void start(int rank) { runs(rank).start(0); }
    // All cards go on, and that rank tests. True when its run is complete.
    bool test(int rank) {
        for (CardRank& of : ranks_)
            if (of.card != nullptr) of.card->card().round();
        return runs(rank).test_one(random_);
    }
    void complete(const std::vector<int>& ranks) {
        for (bool all = false; !all;) {
            all = true;
            for (const int rank : ranks) all = test(rank) && all;
        }
    }
    // The error that a rank's run ends with.
    std::string failure(int rank) {
        try {
            while (!test(rank)) continue;
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
    void end(int rank) {
        CardRank& of = ranks_[static_cast<std::size_t>(rank)];
        of.runs.reset();
        of.group.reset();
        of.card.reset();
    }
    RankRuns& runs(int rank) { return *ranks_[static_cast<std::size_t>(rank)].runs; }

  private:
    std::shared_ptr<mlx5_double::Network> network_;
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<CardRank> ranks_;
    std::mt19937 random_;
};

constexpr std::chrono::milliseconds at_once{0};
constexpr std::chrono::milliseconds never{1000000};

// The root is a run ahead: most of its message lies in the receiver's memory before that one has started the
// run, or looked at the run before.
TEST(Mlx5Landing, TakesWritesBeforeTheRunHasBegun) {
    for (const WorkVariant& each : work_variants()) {
        const Problem problem{.collective = Collective::broadcast, .ranks = 2, .root = 0, .bytes = 20000};
        Ranks ranks(problem, "binomial", each, never);
        ranks.start(0);
        ranks.start(1);
        ranks.complete({0, 1});
        ranks.start(0);
        for (int run = 1; run < 5; ++run) {
            for (int round = 0; round < 1000; ++round) EXPECT_FALSE(ranks.test(0));
            ranks.start(1);
            ranks.complete({0});
            ranks.start(0);
            for (int round = 0; round < 1000; ++round) EXPECT_FALSE(ranks.test(0));
            ranks.complete({1});
            EXPECT_TRUE(ranks.runs(1).right()) << each.name << ", " << run;
        }
    }
}

// Also by who sends it nothing.
TEST(Mlx5KeepAlive, FindsAPeerThatHasEnded) {
    for (const WorkVariant& each : work_variants()) {
        Ranks ranks({.collective = Collective::broadcast, .ranks = 2, .root = 1, .bytes = 24}, "binomial",
                    each, at_once);
        ranks.start(0);
        ranks.start(1);
        ranks.complete({0, 1});
        ranks.start(0);
        ranks.end(1);
        EXPECT_EQ(ranks.failure(0), "rank 1: the peer does not answer") << each.name;
    }
}

// Who waits for a rank that has failed, too.
TEST(Mlx5KeepAlive, TellsAllWhoWait) {
    for (const WorkVariant& each : work_variants()) {
        Ranks ranks({.collective = Collective::barrier, .ranks = 4}, "dissemination", each, at_once);
        for (int rank = 0; rank < 4; ++rank) ranks.start(rank);
        ranks.complete({0, 1, 2, 3});
        ranks.end(3);
        for (int rank = 0; rank < 3; ++rank) ranks.start(rank);
        for (int rank = 0; rank < 3; ++rank) EXPECT_NE(ranks.failure(rank), "") << each.name;
    }
}

TEST(Mlx5KeepAlive, LeavesAloneWhoHasSentAllAndEnded) {
    for (const WorkVariant& each : work_variants()) {
        const Problem problem{.collective = Collective::gather, .ranks = 3, .root = 0, .bytes = 24};
        Ranks ranks(problem, "flat", each, at_once);
        for (int rank = 0; rank < 3; ++rank) ranks.start(rank);
        ranks.complete({0, 1, 2});
        ranks.start(0);
        for (int round = 0; round < 100; ++round) EXPECT_FALSE(ranks.test(0));
        ranks.start(2);
        ranks.complete({2});
        ranks.end(2);
        for (int round = 0; round < 1000; ++round) EXPECT_FALSE(ranks.test(0)) << each.name;
        ranks.start(1);
        ranks.complete({0, 1});
        EXPECT_TRUE(ranks.runs(0).right()) << each.name;
    }
}

// The memory that queues take.

TEST(Mlx5Memory, ManyRanksHaveShorterQueues) {
    EXPECT_EQ(mlx5::depth_of_peers(1, 1024), 1024u);
    EXPECT_EQ(mlx5::depth_of_peers(100, 1024), 1024u);
    EXPECT_EQ(mlx5::depth_of_peers(1024, 1024), 64u);
    EXPECT_EQ(mlx5::depth_of_peers(2000, 1024), 32u);
    EXPECT_EQ(mlx5::depth_of_peers(2100, 1024), 0u);
    // What a card cannot do is not asked of it.
    EXPECT_EQ(mlx5::depth_of_peers(1024, 16), 16u);
    for (int ranks = 1; ranks < 4096; ++ranks) {
        const std::uint32_t depth = mlx5::depth_of_peers(ranks, 1024);
        if (depth > 0) {
            EXPECT_LE(mlx5::bytes_of_peer(depth) * static_cast<std::uint64_t>(ranks - 1),
                      mlx5::max_bytes_of_lane)
                << ranks;
        }
    }
}

// The queues that a lane makes are those that were counted.
TEST(Mlx5Memory, APairOfQueuesTakesWhatIsCounted) {
    mlx5_double::DoubleDevice device(mlx5_double::Network::of_process(1), {}, mlx5_double::Drive::hand);
    for (const int ranks : {2, 200, 1024}) {
        const std::uint32_t depth = mlx5::depth_of_peers(ranks, 1024);
        mlx5::Lane lane(device, {work_variants().front(), 1024, depth, ranks});
        const mlx5::Peer& peer = lane.peer(1);
        const mlx5::QueuePair& pair = peer.sends.pair();
        const std::uint64_t rings = std::uint64_t{pair.send_blocks} * mlx5::block_bytes +
                                    std::uint64_t{pair.receive_entries} * mlx5::receive_bytes +
                                    std::uint64_t{peer.received.queue().entries} * mlx5::block_bytes;
        EXPECT_LE(rings, mlx5::bytes_of_peer(depth));
        EXPECT_GT(rings + 4 * 4096, mlx5::bytes_of_peer(depth));
    }
}

TEST(Mlx5Memory, GroupsThatAreTooLargeAreDeclined) {
    mlx5_double::DoubleDevice device(mlx5_double::Network::of_process(1), {}, mlx5_double::Drive::hand);
    const auto links = process_links(1, true);
    const auto group = open_mlx5_group(device, *links.front(), work_variants().front());
    const auto nobody_asks = [](int) { return List(); };
    EXPECT_TRUE(
        group->admit({.collective = Collective::alltoall, .ranks = 1024, .bytes = 8}, nobody_asks, {}));
    const Verdict verdict =
        group->admit({.collective = Collective::alltoall, .ranks = 4096, .bytes = 8}, nobody_asks, {});
    ASSERT_FALSE(verdict);
    EXPECT_NE(std::string(verdict.reason()).find("16 MiB"), std::string::npos);
}

// An alltoall of all ranks: its peers' queues hold far less than before, and the list still goes in one
// stage.
TEST(Mlx5Memory, AnAlltoallOfManyRanksFits) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 1024, .bytes = 8};
    const List list = build(problem, 5, parse_choice(Collective::alltoall, "flat"));
    for (const WorkVariant& variant : work_variants()) {
        const WorkQueues queues = lower_to_work_queues(
            list, variant,
            {.queue_depth = 4096, .peer_queue_depth = mlx5::depth_of_peers(problem.ranks, 1024)});
        EXPECT_EQ(queues.stages.size(), 1u) << variant.name;
    }
}

}  // namespace
}  // namespace lapwing
