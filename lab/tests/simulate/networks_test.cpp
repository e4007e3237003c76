// Routes of the networks, and messages that share links.
#include "simulate/networks/networks.hpp"

#include "base/error.hpp"
#include "cases.hpp"
#include "support/unit.hpp"
#include "task/builder.hpp"

namespace lapwing::simulate {
namespace {

constexpr Time hop = 100 * nanosecond;

std::vector<std::uint32_t> route(const Network& network, int from, int to) {
    std::vector<std::uint32_t> links;
    std::int32_t place = from;
    while (place != to && links.size() < 1000) {
        const Hop next = network.next(place, to);
        links.push_back(next.link);
        place = next.node;
    }
    return links;
}

// Each link has one place that it comes from and one that it goes to; all routes end, and take no link twice.
void walk_all_routes(const Network& network, std::size_t longest) {
    std::map<std::uint32_t, std::pair<int, int>> ends;
    std::size_t most = 0;
    for (int from = 0; from < network.hosts(); ++from) {
        for (int to = 0; to < network.hosts(); ++to) {
            if (from == to) continue;
            std::int32_t place = from;
            std::set<std::uint32_t> links;
            while (place != to) {
                const Hop next = network.next(place, to);
                ASSERT_LT(next.link, network.links());
                ASSERT_TRUE(links.insert(next.link).second) << network.what() << " " << from << " to " << to;
                const auto [known, fresh] = ends.try_emplace(next.link, place, next.node);
                ASSERT_EQ(known->second, std::pair(place, next.node)) << network.what();
                place = next.node;
            }
            most = std::max(most, links.size());
        }
    }
    EXPECT_EQ(most, longest) << network.what();
}

TEST(Networks, AllRoutesEndAndShareNoLinkNumbers) {
    walk_all_routes(*crossbar(5, 2), 2);
    // Half of each extent, and the links of the hosts.
    walk_all_routes(*grid({4, 3, 2}, GridKind::torus, 1, hop), 2 + 1 + 1 + 2);
    walk_all_routes(*grid({4, 3}, GridKind::mesh, 1, hop), 3 + 2 + 2);
    walk_all_routes(*fat_tree({4, 3, 2}, {1, 2, 3}, 1, hop), 6);
    walk_all_routes(*fat_tree({8}, {1}, 1, hop), 2);
}

TEST(Networks, ATorusTakesTheShorterWayRound) {
    const auto links = [](GridKind kind, int from, int to) {
        return route(*grid({8}, kind, 1, hop), from, to).size() - 2;
    };
    EXPECT_EQ(links(GridKind::torus, 1, 7), 2);
    EXPECT_EQ(links(GridKind::mesh, 1, 7), 6);
    EXPECT_EQ(links(GridKind::torus, 1, 5), 4);
    EXPECT_EQ(links(GridKind::torus, 6, 1), 3);
    EXPECT_EQ(links(GridKind::one_way_torus, 1, 7), 6);
    EXPECT_EQ(links(GridKind::one_way_torus, 7, 1), 2);
}

TEST(Networks, TheParentsOfAFatTreeGoByTheReceiver) {
    // 4 leaves with 4 hosts, 4 spines: messages from one leaf to another share no link upwards.
    const auto tree = fat_tree({4, 4}, {1, 4}, 1, hop);
    std::set<std::uint32_t> upwards;
    for (int host = 0; host < 4; ++host) upwards.insert(route(*tree, host, 4 + host)[1]);
    EXPECT_EQ(upwards.size(), 4);
    // With two spines, two and two share one.
    const auto narrow = fat_tree({4, 4}, {1, 2}, 1, hop);
    upwards.clear();
    for (int host = 0; host < 4; ++host) upwards.insert(route(*narrow, host, 4 + host)[1]);
    EXPECT_EQ(upwards.size(), 2);
    EXPECT_EQ(route(*tree, 0, 3).size(), 2);
    EXPECT_EQ(route(*tree, 0, 4).size(), 4);
    EXPECT_THROW(fat_tree({1024, 1024}, {1, 1 << 20}, 1, hop), Error);
}

// Ranks 0 and 1 send to 2 and 3 at the same time.
Time two_messages(const Network& network) {
    std::vector<List> lists;
    const Problem problem{.collective = Collective::alltoall, .ranks = 4, .bytes = 1000};
    for (int rank = 0; rank < 4; ++rank) {
        Builder list(problem, rank);
        if (rank < 2) {
            list.send(rank + 2, in(0, 1000));
        } else {
            list.recv(rank - 2, out(0, 1000));
            list.wait(rank - 2);
        }
        lists.push_back(list.finish());
    }
    return simulate(make_lists(lists), {.parameters = parameters(1000, 50, 1), .network = &network}).end() /
           nanosecond;
}

TEST(SharedLinks, TheLaterMessageWaitsForTheEarlier) {
    // 50 + 1000, then hops of 100 from link to link, 1000 of bytes, 50. On a line, both take the links from 1
    // to 2; the message from rank 1 is there first.
    const auto line = grid({4}, GridKind::mesh, 1, hop);
    EXPECT_EQ(two_messages(*line), 50 + 1000 + 3 * 100 + 1000 + 1000 - 100 + 50 + 0);
    // In a tree with a link up for each host nobody waits.
    EXPECT_EQ(two_messages(*fat_tree({2, 2}, {1, 2}, 1, hop)), 50 + 1000 + 3 * 100 + 1000 + 50);
    EXPECT_EQ(two_messages(*fat_tree({2, 2}, {1, 1}, 1, hop)), 50 + 1000 + 3 * 100 + 2 * 1000 + 50);
}

TEST(Crossbars, WithARankOnEachHostAreTheFlatNetwork) {
    const auto hosts = crossbar(8, 1);
    for (const char* algorithm : {"bruck", "flat", "pairwise"}) {
        const Lists lists = lists_for(Collective::alltoall, algorithm, 8, 500);
        const Time flat = simulate(lists, {.parameters = parameters(1000, 50, 1)}).end();
        EXPECT_EQ(simulate(lists, {.parameters = parameters(1000, 50, 1), .network = hosts.get()}).end(),
                  flat)
            << algorithm;
    }
}

TEST(Crossbars, RanksOfAHostShareItsLinkAndAreNear) {
    // Two hosts of two ranks each. Far: 50 + 1000 + 1000 + 50, twice the bytes where both ranks send.
    const auto hosts = crossbar(2, 2);
    EXPECT_EQ(two_messages(*hosts), 50 + 1000 + 2 * 1000 + 50);
    Parameters costs = parameters(1000, 50, 1);
    costs.near_latency = 100 * nanosecond;
    costs.near_overhead = 10 * nanosecond;
    costs.near_per_byte = 100;
    // 10 + 100 + 1000 * 0.1 + 10.
    const Lists lists = lists_for(Collective::broadcast, "flat", 2, 1000);
    EXPECT_EQ(simulate(lists, {.parameters = costs, .network = hosts.get()}).end() / nanosecond, 220);
}

TEST(Refusals, OfNetworksThatAreTooSmall) {
    const auto torus = grid({2, 2}, GridKind::torus, 1, hop);
    const Lists lists = lists_for(Collective::alltoall, "flat", 5, 100);
    EXPECT_THROW(simulate(lists, {.parameters = parameters(1000, 50, 1), .network = torus.get()}), Error);
}

}  // namespace
}  // namespace lapwing::simulate
