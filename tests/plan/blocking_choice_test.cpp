// Which way blocking collectives take, by times that the test makes up.
#include "plan/blocking_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lapwing {
namespace {

using Way = BlockingChoice::Way;

// Ranks whose calls take so long, by way; returns how many of `calls` were lists.
int run(std::vector<BlockingChoice>& ranks, int calls, std::uint64_t bytes, std::uint64_t mpi,
        std::uint64_t lists, bool taken = true) {
    int by_lists = 0;
    for (int call = 0; call < calls; ++call) {
        BlockingChoice::Times sums{};
        std::vector<BlockingChoice::Case*> cases;
        for (BlockingChoice& rank : ranks) cases.push_back(&rank.find(Collective::allreduce, bytes));
        for (auto* one : cases) one->next_call();
        if (cases.front()->must_agree()) {
            for (const auto* one : cases) {
                const auto times = one->times();
                for (std::size_t number = 0; number < sums.size(); ++number) sums[number] += times[number];
            }
            for (auto* one : cases) one->decide(sums);
        }
        const Way way = cases.front()->way();
        by_lists += way == Way::lists ? 1 : 0;
        std::uint64_t rank = 0;
        for (auto* one : cases) {
            EXPECT_EQ(one->way(), way);
            EXPECT_FALSE(one->must_agree());
            if (one->timed()) one->took((way == Way::mpi ? mpi : lists) + rank++, taken);
        }
    }
    return by_lists;
}

std::vector<BlockingChoice> ranks(int number) {
    return std::vector<BlockingChoice>(static_cast<std::size_t>(number), BlockingChoice(number));
}

constexpr int in_trials = BlockingChoice::trials / 2;

TEST(BlockingChoice, TheFasterWayIsTakenAfterTheTrials) {
    auto faster = ranks(3);
    EXPECT_EQ(run(faster, 100, 64, 1000, 500), in_trials + 100 - BlockingChoice::trials);
    auto slower = ranks(3);
    EXPECT_EQ(run(slower, 100, 64, 500, 1000), in_trials);
    const auto& decided = slower.front().find(Collective::allreduce, 64);
    EXPECT_TRUE(decided.decided());
    EXPECT_EQ(decided.medians(), (std::array<double, 2>{501, 1001}));
}

TEST(BlockingChoice, EqualTimesAreLeftToTheMpi) {
    auto equal = ranks(2);
    EXPECT_EQ(run(equal, 100, 64, 1000, 980), in_trials);
}

TEST(BlockingChoice, ADecisionIsTriedAgainAfterSomeCalls) {
    auto all = ranks(2);
    constexpr int lasts = static_cast<int>(BlockingChoice::first_lasts);
    constexpr int first = BlockingChoice::trials + lasts;
    EXPECT_EQ(run(all, first, 64, 500, 1000), in_trials);
    // Lists are faster now, as in a program whose blocks have become longer.
    EXPECT_EQ(run(all, first, 64, 1000, 500), in_trials + lasts);
    EXPECT_EQ(run(all, 5 * lasts, 64, 1000, 500), 5 * lasts);  // this decision lasts longer
}

TEST(BlockingChoice, WhatNoListTakesIsNotTriedAgain) {
    auto all = ranks(2);
    EXPECT_EQ(run(all, 100 * static_cast<int>(BlockingChoice::first_lasts), 64, 1000, 10, false), in_trials);
}

// One rank's times: of the MPI, then of lists. Returns what is chosen.
Way chosen(std::initializer_list<std::uint64_t> mpi, std::initializer_list<std::uint64_t> lists) {
    BlockingChoice one(1);
    auto& decided = one.find(Collective::alltoall, 8);
    for (int warm_up = 0; warm_up < 2 * BlockingChoice::warm_ups; ++warm_up) decided.took(1, true);
    for (std::size_t number = 0; number < mpi.size(); ++number) {
        decided.took(mpi.begin()[number], true);
        decided.took(lists.begin()[number], true);
    }
    EXPECT_TRUE(decided.must_agree());
    decided.decide(decided.times());
    return decided.way();
}

TEST(BlockingChoice, OneLateCallDoesNotDecide) {
    EXPECT_EQ(chosen({10, 10, 10, 10, 10}, {5, 5, 900, 5, 5}), Way::lists);
    EXPECT_EQ(chosen({10, 900, 10, 10, 10}, {10, 10, 10, 10, 10}), Way::mpi);
}

TEST(BlockingChoice, ListsThatAreFasterOnlySometimesAreNotTaken) {
    // By medians, 6 to 10, lists would be faster.
    EXPECT_EQ(chosen({10, 4, 10, 4, 10}, {6, 12, 6, 12, 6}), Way::mpi);
    EXPECT_EQ(chosen({10, 9, 10, 9, 10}, {6, 12, 6, 6, 6}), Way::lists);
}

TEST(BlockingChoice, WhatNoListTakesIsLeftToTheMpi) {
    auto all = ranks(2);
    EXPECT_EQ(run(all, 100, 64, 1000, 10, false), in_trials);
    EXPECT_TRUE(std::isinf(all.front().find(Collective::allreduce, 64).medians()[1]));
}

TEST(BlockingChoice, SizesAndCollectivesAreDecidedApart) {
    auto all = ranks(2);
    EXPECT_EQ(run(all, 20, 8, 1000, 500), 20 - in_trials);
    EXPECT_EQ(run(all, 20, 9, 500, 1000), in_trials);
    EXPECT_EQ(run(all, 20, 32, 500, 1000), 0);  // of the same class
    EXPECT_EQ(all.front().find(Collective::allreduce, 33).max_bytes(), 128U);
    EXPECT_EQ(all.front().find(Collective::allreduce, 0).max_bytes(), 0U);
    EXPECT_FALSE(all.front().find(Collective::alltoall, 8).decided());
    EXPECT_TRUE(all.front().find(Collective::allreduce, 8).decided());
    EXPECT_EQ(all.front().find(Collective::allreduce, UINT64_MAX).max_bytes(), std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace lapwing
