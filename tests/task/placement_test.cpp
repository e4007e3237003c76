#include "task/placement.hpp"

#include "base/error.hpp"
#include "support/unit.hpp"

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

using Levels = std::vector<std::vector<std::uint64_t>>;

TEST(Placement, HasGroupsInsideHosts) {
    // NUMA nodes 4 and 5 on the first host; caches have the same numbers on each node.
    const Placement placement(Hosts{0, 0, 0, 0, 0, 1}, {}, Levels{{5, 4, 5, 4, 4, 4}, {1, 1, 2, 2, 1, 1}});
    EXPECT_EQ(placement.levels(), 3);
    EXPECT_THAT(placement.order(), ElementsAre(0, 2, 1, 4, 3, 5));
    EXPECT_EQ(placement.hosts(), 2);
    EXPECT_EQ(placement.groups(1), 3);
    EXPECT_THAT(placement.ranks_of(1, 0), ElementsAre(0, 2));
    EXPECT_THAT(placement.ranks_of(1, 1), ElementsAre(1, 4, 3));
    EXPECT_THAT(placement.ranks_of(1, 2), ElementsAre(5));
    EXPECT_EQ(placement.groups(2), 5);
    EXPECT_THAT(placement.ranks_of(2, 2), ElementsAre(1, 4));
    EXPECT_EQ(placement.group_of(2, 3), 3);
    EXPECT_THAT((std::vector{placement.width(0), placement.width(1), placement.width(2), placement.width(3)}),
                ElementsAre(2, 2, 2, 2));
    EXPECT_TRUE(placement.in_default_order());
    EXPECT_FALSE(placement.in_rank_order());
    const Placement hosts(Hosts{0, 0, 0, 0, 0, 1});
    EXPECT_NE(placement, hosts);
    EXPECT_NE(placement.hash(), hosts.hash());
    EXPECT_EQ(hosts.width(1), 5);
    // The same order and other groups.
    const Placement other(Hosts{0, 0, 0, 0}, {}, Levels{{0, 0, 1, 1}});
    EXPECT_NE(other, Placement(Hosts{0, 0, 0, 0}, {}, Levels{{0, 1, 1, 1}}));
    EXPECT_NE(other.hash(), Placement(Hosts{0, 0, 0, 0}, {}, Levels{{0, 1, 1, 1}}).hash());
    EXPECT_EQ(other, Placement(Hosts{0, 0, 0, 0}, {}, Levels{{7, 7, 7, 7}, {9, 9, 3, 3}, {0, 1, 2, 3}}));
}

TEST(Placement, ItsOrderIsTheDefaultInAllGroups) {
    const Levels nodes{{0, 0, 1, 1}};
    EXPECT_TRUE(Placement(Hosts{0, 0, 0, 0}, Order{0, 2, 1, 3}, nodes).in_default_order());
    EXPECT_FALSE(Placement(Hosts{0, 0, 0, 0}, Order{2, 3, 0, 1}, nodes).in_default_order());
    EXPECT_FALSE(Placement(Hosts{0, 0, 0, 0}, Order{1, 0, 2, 3}, nodes).in_default_order());
    EXPECT_TRUE(Placement(Hosts{0, 0, 0, 0}, Order{}, Levels{{0, 1, 0, 1}}).in_default_order());
}

TEST(Placement, DropsLevelsThatDivideNothingOrLeaveNoGroups) {
    const Hosts hosts{0, 0, 1, 1};
    EXPECT_EQ(Placement(hosts, {}, Levels{{3, 3, 4, 4}}), Placement(hosts));
    EXPECT_EQ(Placement(hosts, {}, Levels{{0, 1, 0, 1}}), Placement(hosts));
    EXPECT_EQ(Placement(hosts, {}, Levels{{0, 0, 0, 1}}).levels(), 2);
}

TEST(Placement, RefusesLevelsWithoutANumberForEachRank) {
    EXPECT_THROW(Placement(Hosts{0, 0, 1}, {}, Levels{{0, 1}}), Error);
}

TEST(Placement, RefusesWhatIsNoOrder) {
    for (const Order& order : {Order{0, 1}, Order{0, 1, 1}, Order{0, 1, 3}, Order{0, 1, -1}})
        EXPECT_THROW(Placement(Hosts{0, 0, 1}, order), Error);
    EXPECT_THROW(Placement(Hosts{}), Error);
}

}  // namespace
}  // namespace lapwing
