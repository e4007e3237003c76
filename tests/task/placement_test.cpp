#include "task/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;
using Hosts = std::vector<std::uint64_t>;
using Order = std::vector<int>;

TEST(Placement, NumbersHostsByTheirFirstRank) {
    const Placement placement(Hosts{7, 7, 3, 3, 7});
    EXPECT_EQ(placement.ranks(), 5);
    EXPECT_EQ(placement.hosts(), 2);
    EXPECT_EQ(placement.host_of(0), 0);
    EXPECT_EQ(placement.host_of(3), 1);
    EXPECT_THAT(placement.ranks_of(0), ElementsAre(0, 1, 4));
    EXPECT_THAT(placement.ranks_of(1), ElementsAre(2, 3));
    EXPECT_THAT(placement.order(), ElementsAre(0, 1, 4, 2, 3));
    EXPECT_EQ(placement.place(4), 2);
    EXPECT_EQ(placement.place(2), 3);
    EXPECT_EQ(placement.place_on_host(3), 1);
    EXPECT_EQ(placement.largest_host(), 3);
    EXPECT_EQ(placement.smallest_host(), 2);
    EXPECT_EQ(placement.intra_node_pairs(), 8.0 / 20);
    EXPECT_TRUE(placement.in_default_order());
    EXPECT_FALSE(placement.has_runs());
    EXPECT_FALSE(placement.in_rank_order());
}

TEST(Placement, FollowsAnOrder) {
    const Placement placement(Hosts{0, 0, 1, 1}, Order{3, 0, 2, 1});
    EXPECT_EQ(placement.host_of(3), 0);
    EXPECT_THAT(placement.ranks_of(0), ElementsAre(3, 2));
    EXPECT_THAT(placement.order(), ElementsAre(3, 2, 0, 1));
    EXPECT_EQ(placement.place(1), 3);
    EXPECT_FALSE(placement.in_default_order());
    // Its own order says the same once more.
    const Order again(placement.order().begin(), placement.order().end());
    EXPECT_EQ(Placement(Hosts{0, 0, 1, 1}, again), placement);
    EXPECT_NE(Placement(Hosts{0, 0, 1, 1}), placement);
    EXPECT_NE(Placement(Hosts{0, 1, 0, 1}), Placement(Hosts{0, 0, 1, 1}));
    EXPECT_EQ(Placement(Hosts{5, 5, 1, 1}), Placement(Hosts{0, 0, 1, 1}));
    EXPECT_NE(Placement(Hosts{0, 0, 1, 1}).hash(), placement.hash());
}

TEST(Placement, KnowsWhetherRanksFollowOneAnother) {
    EXPECT_TRUE(Placement(Hosts{0, 1, 1, 1, 2}).in_rank_order());
    EXPECT_TRUE(Placement(Hosts{0, 1, 1, 1, 2}).has_runs());
    const Placement hosts_turned(Hosts{0, 0, 1, 1}, Order{2, 3, 0, 1});
    EXPECT_TRUE(hosts_turned.has_runs());
    EXPECT_FALSE(hosts_turned.in_rank_order());
    EXPECT_FALSE(Placement(Hosts{0, 0, 1, 1}, Order{1, 0, 2, 3}).has_runs());
}

TEST(Placement, IsThereWhereListsMayFollowIt) {
    EXPECT_EQ(placement_on_hosts(Hosts{4, 4, 4}), nullptr);
    EXPECT_EQ(placement_on_hosts(Hosts{4, 5, 6}), nullptr);
    ASSERT_NE(placement_on_hosts(Hosts{4, 5, 4}), nullptr);
    EXPECT_EQ(*placement_on_hosts(Hosts{4, 5, 4}), Placement(Hosts{0, 1, 0}));
}

TEST(Placement, RefusesWhatIsNoOrder) {
    for (const Order& order : {Order{0, 1}, Order{0, 1, 1}, Order{0, 1, 3}, Order{0, 1, -1}}) {
        EXPECT_THROW(Placement(Hosts{0, 0, 1}, order), Error);
    }
    EXPECT_THROW(Placement(Hosts{}), Error);
}

}  // namespace
}  // namespace lapwing
