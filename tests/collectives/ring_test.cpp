// Rings follow the order of the placement, and their lists are right in any.
#include "collectives/ring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "collectives/catalogue.hpp"
#include "lists.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using testing::UnorderedElementsAre;

const std::pair<Collective, const char*> rings[] = {{Collective::allgather, "ring"},
                                                    {Collective::allgatherv, "ring"},
                                                    {Collective::alltoall, "ring"},
                                                    {Collective::broadcast, "scatter_ring"}};

// Ranks dealt out to hosts at random, in an order of their own.
std::shared_ptr<const Placement> random_placement(int ranks, std::mt19937& random) {
    std::vector<std::uint64_t> hosts(static_cast<std::size_t>(ranks));
    for (std::uint64_t& host : hosts) host = random() % 3;
    std::vector<int> order(hosts.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return std::make_shared<const Placement>(hosts, order);
}

TEST(Rings, AreProvenInEveryOrder) {
    std::mt19937 random(1);
    for (int ranks = 1; ranks <= 9; ++ranks) {
        for (int repetition = 0; repetition < 4; ++repetition) {
            const auto placement = random_placement(ranks, random);
            for (const auto& [collective, name] : rings) {
                for (Problem problem : sample_problems(collective, ranks, 24)) {
                    problem.placement = placement;
                    const ListSet set = build_all(problem, parse_choice(collective, name));
                    const auto violations = check(problem, set.lists);
                    ASSERT_TRUE(violations.empty())
                        << print(problem) << ": " << violations.front().what(set.lists);
                    const auto wrong_chains = check_chains(set.lists);
                    ASSERT_TRUE(wrong_chains.empty())
                        << print(problem) << ": " << wrong_chains.front().what(set.lists);
                }
            }
        }
    }
}

TEST(Rings, SpeakToNeighboursInTheOrderOnly) {
    const std::uint64_t hosts[] = {7, 5, 7, 5, 7};
    const int order[] = {3, 1, 4, 0, 2};
    const auto placement = std::make_shared<const Placement>(hosts, order);
    for (const auto& [collective, name] : rings) {
        if (collective == Collective::broadcast) continue;  // its tree speaks to others, too
        Problem problem = sample_problems(collective, 5, 24).front();
        problem.placement = placement;
        for (std::size_t place = 0; place < 5; ++place) {
            const List list = build(problem, order[place], parse_choice(collective, name));
            EXPECT_THAT(peers_of(list), UnorderedElementsAre(order[(place + 1) % 5], order[(place + 4) % 5]))
                << name;
        }
    }
}

TEST(Rings, ByNumbersWithoutAPlacement) {
    const Problem problem = problem_of(Collective::allgather, 5);
    const Ring ring(problem, 3);
    EXPECT_EQ(ring.above(0), 3);
    EXPECT_EQ(ring.above(2), 0);
    EXPECT_EQ(ring.above(5), 3);
    EXPECT_EQ(ring.below(4), 4);
    EXPECT_EQ(ring.distance(1), 3);
}

}  // namespace
}  // namespace lapwing
