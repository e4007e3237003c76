// The pinned memory of the mlx5 engine's queues, for groups that are too large to run here.
#include <gtest/gtest.h>

#include "collectives/catalogue.hpp"
#include "engines/doubles/mlx5/device.hpp"
#include "engines/mlx5/engine.hpp"
#include "engines/mlx5/group.hpp"
#include "engines/mlx5/queues.hpp"
#include "engines/mlx5/work_queues.hpp"
#include "links/process/process_link.hpp"

namespace lapwing::mlx5 {
namespace {

TEST(Mlx5Memory, ManyRanksHaveShorterQueues) {
    EXPECT_EQ(depth_of_peers(1, 1024), 1024u);
    EXPECT_EQ(depth_of_peers(100, 1024), 1024u);
    EXPECT_EQ(depth_of_peers(1024, 1024), 64u);
    EXPECT_EQ(depth_of_peers(2000, 1024), 32u);
    EXPECT_EQ(depth_of_peers(2100, 1024), 0u);
    // What a card cannot do is not asked of it.
    EXPECT_EQ(depth_of_peers(1024, 16), 16u);
    for (int ranks = 1; ranks < 4096; ++ranks) {
        const std::uint32_t depth = depth_of_peers(ranks, 1024);
        if (depth > 0) {
            EXPECT_LE(bytes_of_peer(depth) * static_cast<std::uint64_t>(ranks - 1), max_bytes_of_lane)
                << ranks;
        }
    }
}

// The queues that a lane makes are those that were counted.
TEST(Mlx5Memory, APairOfQueuesTakesWhatIsCounted) {
    mlx5_double::DoubleDevice device(mlx5_double::Network::of_process(1), {}, mlx5_double::Drive::hand);
    for (const int ranks : {2, 200, 1024}) {
        const std::uint32_t depth = depth_of_peers(ranks, 1024);
        Lane lane(device, {work_variants().front(), 1024, depth, ranks});
        const Peer& peer = lane.peer(1);
        const QueuePair& pair = peer.sends.pair();
        const std::uint64_t rings = std::uint64_t{pair.send_blocks} * block_bytes +
                                    std::uint64_t{pair.receive_entries} * receive_bytes +
                                    std::uint64_t{peer.received.queue().entries} * block_bytes;
        EXPECT_LE(rings, bytes_of_peer(depth));
        EXPECT_GT(rings + 4 * 4096, bytes_of_peer(depth));
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
    EXPECT_STREQ(verdict.reason(), "queues to all ranks would take more than 16 MiB of pinned memory");
}

// An alltoall of all ranks: its peers' queues hold far less than before, and the list still goes in one
// stage.
TEST(Mlx5Memory, AnAlltoallOfManyRanksFits) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 1024, .bytes = 8};
    const List list = build(problem, 5, parse_choice(Collective::alltoall, "flat"));
    for (const WorkVariant& variant : work_variants()) {
        const WorkQueues queues = lower_to_work_queues(
            list, variant, {.queue_depth = 4096, .peer_queue_depth = depth_of_peers(problem.ranks, 1024)});
        EXPECT_EQ(queues.stages.size(), 1u) << variant.name;
    }
}

}  // namespace
}  // namespace lapwing::mlx5
