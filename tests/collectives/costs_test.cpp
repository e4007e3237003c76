// What the cost model makes of the algorithms that move data: which of them comes first, for short blocks and
// long ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plan/selection.hpp"
#include "problems.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;

// Those that apply, the cheapest first.
std::vector<std::string> order(const Problem& problem) {
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates(problem)) {
        if (candidate.applies) names.emplace_back(candidate.choice.algorithm->name);
    }
    return names;
}
std::string first(Collective collective, int ranks, std::uint64_t bytes) {
    return order(problem_of(collective, ranks, 0, bytes)).front();
}

TEST(Costs, RootedCollectivesTakeATreeWhenTheRootIsBusyWithManyShortMessages) {
    for (const Collective collective : {Collective::gather, Collective::scatter}) {
        EXPECT_EQ(first(collective, 16, 8), "flat");
        EXPECT_EQ(first(collective, 1024, 8), "binomial");
        EXPECT_EQ(first(collective, 1024, 1 << 24), "flat");
    }
}

TEST(Costs, OfTheTextbooksMachine) {
    EXPECT_EQ(first(Collective::barrier, 4, 0), "flat");
    EXPECT_EQ(first(Collective::barrier, 1024, 0), "recursive_doubling");
    EXPECT_EQ(first(Collective::barrier, 1025, 0), "dissemination");
    EXPECT_EQ(first(Collective::alltoall, 16, 8), "flat");
    EXPECT_EQ(first(Collective::alltoall, 1024, 8), "bruck");
    EXPECT_EQ(first(Collective::alltoall, 64, 1 << 20), "pairwise");
    EXPECT_EQ(first(Collective::alltoall, 2, 1 << 20), "flat");
    EXPECT_EQ(first(Collective::broadcast, 64, 1 << 24), "scatter_recursive_doubling");
    EXPECT_EQ(first(Collective::broadcast, 60, 1 << 24), "scatter_ring");
}

TEST(Costs, AllgatherIsFlatThenLogarithmicThenOfNeighbours) {
    EXPECT_EQ(first(Collective::allgather, 2, 1 << 20), "flat");
    EXPECT_EQ(first(Collective::allgather, 16, 8), "flat");
    EXPECT_EQ(first(Collective::allgather, 1024, 8), "recursive_doubling");
    EXPECT_EQ(first(Collective::allgather, 1000, 8), "bruck");
    EXPECT_EQ(first(Collective::allgather, 999, 8), "bruck");
    EXPECT_EQ(first(Collective::allgather, 64, 1 << 20), "recursive_doubling");
    EXPECT_EQ(first(Collective::allgather, 60, 1 << 20), "neighbor_exchange");
    EXPECT_EQ(first(Collective::allgather, 61, 1 << 20), "ring");
}

TEST(Costs, OrderOfTheAllgathers) {
    EXPECT_THAT(order(problem_of(Collective::allgather, 256, 0, 8)),
                ElementsAre("recursive_doubling", "bruck", "flat", "neighbor_exchange", "ring"));
    EXPECT_THAT(order(problem_of(Collective::allgather, 8, 0, 1 << 20)),
                ElementsAre("recursive_doubling", "neighbor_exchange", "ring", "bruck", "flat"));
}

TEST(Costs, OfAllgathervTheLongestBlockCounts) {
    const auto lengths = [](int ranks, std::uint64_t of_one, std::uint64_t of_others) {
        Problem problem = problem_of(Collective::allgatherv, ranks);
        problem.parts = all_parts(problem, [=](int from, int) { return from == 1 ? of_one : of_others; });
        return order(problem).front();
    };
    EXPECT_EQ(lengths(16, 8, 8), "flat");
    EXPECT_EQ(lengths(1000, 8, 8), "bruck");
    EXPECT_EQ(lengths(24, 1 << 20, 1 << 20), "ring");
    // On its way around the ring nothing else would move.
    EXPECT_EQ(lengths(24, 24 << 20, 0), "bruck");
}

TEST(Costs, AlltoallvIsPairwiseAmongManyWhateverTheBlocks) {
    for (const std::uint64_t bytes : {0U, 8U, 1U << 20}) {
        const auto chosen = [&](int ranks) {
            Problem problem = problem_of(Collective::alltoallv, ranks);
            problem.parts = all_parts(problem, [&](int, int) { return bytes; });
            return order(problem).front();
        };
        EXPECT_EQ(chosen(2), "flat");
        EXPECT_EQ(chosen(16), "flat");
        EXPECT_EQ(chosen(24), "pairwise");
        EXPECT_EQ(chosen(256), "pairwise");
    }
}

TEST(Costs, TheRootNeedNotSignalWhereBlocksAreNotKnownToBeLong) {
    EXPECT_THAT(order(problem_of(Collective::gatherv, 64)), ElementsAre("flat", "sequential"));
}

}  // namespace
}  // namespace lapwing
