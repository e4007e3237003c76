#include "topology/order.hpp"
#include "support/unit.hpp"

namespace lapwing::topology {
namespace {

using testing::ElementsAre;

// Package, NUMA node, cache, core and thread of a rank that is bound to one processor.
RankLocation at(std::uint64_t host, int package, int node, int cache, int core, int thread,
                int host_index = -1) {
    return rank_location(host, host_index, {core, package, node, cache, core, thread, Part::thread});
}

TEST(Order, UnboundRanksAreSortedByHostAndRank) {
    const std::vector<RankLocation> locations = {at(7, 0, 0, 0, 0, 0), at(3, 0, 0, 0, 0, 0),
                                                 at(7, 0, 0, 0, 0, 0), at(3, 0, 0, 0, 0, 0)};
    EXPECT_THAT(order_of(locations), ElementsAre(0, 2, 1, 3));
    EXPECT_TRUE(order_of({}).empty());
}

TEST(Order, HostsAreSortedByIndexAndHostsWithoutOneComeLast) {
    const std::vector<RankLocation> locations = {at(9, 0, 0, 0, 0, 0), at(5, 0, 0, 0, 0, 0, 4),
                                                 at(9, 0, 0, 0, 0, 0), at(8, 0, 0, 0, 0, 0, 2),
                                                 at(1, 0, 0, 0, 0, 0), at(5, 0, 0, 0, 0, 0, 4)};
    EXPECT_THAT(order_of(locations), ElementsAre(3, 1, 5, 0, 2, 4));
}

TEST(Order, RanksOfAHostAreSortedByPartFromTheLargest) {
    // As mpirun --map-by socket distributes them, with cores and threads in any order.
    const std::vector<RankLocation> locations = {
        at(1, 0, 0, 0, 0, 0), at(1, 1, 2, 8, 8, 0), at(1, 0, 1, 4, 4, 0), at(1, 1, 3, 12, 12, 0),
        at(1, 0, 0, 2, 2, 0), at(1, 1, 2, 8, 9, 0), at(1, 0, 0, 0, 1, 0), at(1, 0, 0, 0, 0, 1)};
    EXPECT_THAT(order_of(locations), ElementsAre(0, 7, 6, 4, 2, 1, 5, 3));
}

TEST(Order, ARankIsInNoPartThatIsSmallerThanItsBinding) {
    const Location first = {4, 1, 2, 4, 4, 0, Part::thread};
    for (const auto& [bound_to, package, node, cache, core, thread] :
         {std::tuple(Part::thread, 1, 2, 4, 4, 0),
          {Part::core, 1, 2, 4, 4, -1},
          {Part::cache, 1, 2, 4, -1, -1},
          {Part::node, 1, 2, -1, -1, -1},
          {Part::package, 1, -1, -1, -1, -1},
          {Part::machine, -1, -1, -1, -1, -1}}) {
        Location location = first;
        location.bound_to = bound_to;
        const RankLocation rank = rank_location(1, -1, location);
        EXPECT_EQ(std::tuple(rank.package, rank.node, rank.cache, rank.core, rank.thread),
                  std::tuple(package, node, cache, core, thread));
    }
}

TEST(Order, HostsOfTheSameNameStaySeparate) {
    const std::vector<RankLocation> locations = {at(2, 0, 0, 0, 0, 0, 1), at(1, 0, 0, 0, 0, 0, 1),
                                                 at(2, 0, 0, 0, 0, 0, 1)};
    EXPECT_THAT(order_of(locations), ElementsAre(0, 2, 1));
}

}  // namespace
}  // namespace lapwing::topology
