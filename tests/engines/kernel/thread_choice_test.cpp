// The choice of who advances short reductions: from times that are given, not measured.
#include "engines/kernel/thread_choice.hpp"

#include <gtest/gtest.h>

namespace lapwing::kernel {
namespace {

constexpr std::uint64_t us = 1000;

// A loop with one reduction. Times in nanoseconds.
struct Site {
    std::uint64_t away = 200 * us;
    std::uint64_t period_by_calls = 300 * us;
    std::uint64_t period_by_thread = 220 * us;
    std::uint64_t now = 0;
    ThreadChoice choice = {};

    // Returns how many of the runs the event thread has advanced.
    int run(int runs) {
        int by_thread = 0;
        for (int i = 0; i < runs; ++i) {
            const bool chosen = choice.next(now);
            by_thread += chosen ? 1 : 0;
            choice.completed(away);
            now += chosen ? period_by_thread : period_by_calls;
        }
        return by_thread;
    }
};

constexpr int trials = static_cast<int>(ThreadChoice::repetition);

TEST(ThreadChoice, AProgramThatWaitsAtOnceNeverWakesTheThread) {
    Site site{.away = 1 * us};
    EXPECT_EQ(site.run(5000), 0);
}

TEST(ThreadChoice, AProgramThatStartsManyBeforeItWaitsNeverWakesTheThread) {
    ThreadChoice choice;
    for (std::uint64_t now = 0; now < 5000 * us; now += 10 * us) {
        EXPECT_FALSE(choice.next(now));
        EXPECT_FALSE(choice.next(now));
        choice.crowd();
        choice.completed(200 * us);
        choice.completed(200 * us);
    }
}

TEST(ThreadChoice, TheThreadAdvancesWhatItMakesFaster) {
    Site site;
    site.run(trials + 10);
    EXPECT_EQ(site.run(100), 100);
    EXPECT_DOUBLE_EQ(site.choice.periods()[0], 300e3);
    EXPECT_DOUBLE_EQ(site.choice.periods()[1], 220e3);
}

TEST(ThreadChoice, TheThreadMustBeClearlyFaster) {
    Site site{.period_by_thread = 295 * us};
    site.run(trials + 10);
    EXPECT_EQ(site.run(400), 0);
}

// What comes before the second run of a block belongs to the way before.
TEST(ThreadChoice, TheFirstPeriodOfABlockDoesNotCount) {
    Site site;
    for (int i = 0; i < trials + 10; ++i) {
        if (i % static_cast<int>(ThreadChoice::block) == 1) site.now += 10'000 * us;
        site.run(1);
    }
    EXPECT_DOUBLE_EQ(site.choice.periods()[0], 300e3);
    EXPECT_DOUBLE_EQ(site.choice.periods()[1], 220e3);
}

// Such as a file that is written now and then.
TEST(ThreadChoice, RareLongPeriodsDoNotMatter) {
    Site site;
    for (int i = 0; i < trials + 10; ++i) {
        if (i % 10 == 9) site.now += 10'000 * us;
        site.run(1);
    }
    EXPECT_EQ(site.run(100), 100);
}

// Two reductions at one call site: an iteration is a long period and a short one.
TEST(ThreadChoice, ALoopWithTwoReductionsIsMeasuredAsAWhole) {
    Site site;
    for (int i = 0; i < trials + 10; ++i) {
        site.now += i % 2 == 0 ? 500 * us : 0;
        site.run(1);
    }
    EXPECT_DOUBLE_EQ(site.choice.periods()[0], 550e3);
    EXPECT_DOUBLE_EQ(site.choice.periods()[1], 470e3);
}

TEST(ThreadChoice, ARunThatWaitsAtOnceEndsTheThreadsTurn) {
    Site site;
    site.run(160);
    site.away = 0;
    EXPECT_LE(site.run(100), 1);
    site.away = 200 * us;
    EXPECT_EQ(site.run(2), 0);
    EXPECT_EQ(site.run(50), 50);
}

TEST(ThreadChoice, BlocksWithARunThatIsNotOverlappedAreNoSamples) {
    Site site;
    for (int i = 0; i < 400; ++i) {
        site.away = i % 3 == 2 ? 0 : 200 * us;
        site.run(1);
    }
    EXPECT_LT(site.choice.periods()[0], 0);
}

// All ranks try the same way in the same run, also one that has nothing to hide before.
TEST(ThreadChoice, TrialsDependOnTheNumberOfTheRun) {
    Site one;
    Site late{.away = 0};
    late.run(10);
    one.run(10);
    late.away = 200 * us;
    for (int i = 0; i < 2; ++i) {
        one.run(1);
        late.run(1);
    }
    for (int i = 0; i < 9; ++i) EXPECT_EQ(one.run(1), late.run(1)) << i;
}

TEST(ThreadChoice, ANewSituationIsNoticed) {
    Site site{.period_by_thread = 320 * us};
    EXPECT_LT(site.run(400), trials);
    site.period_by_calls = 500 * us;
    site.run(200);
    EXPECT_EQ(site.run(50), 50);
    site.period_by_thread = 900 * us;
    site.run(450);
    EXPECT_EQ(site.run(50), 0);
}

TEST(ThreadChoice, TrialsAreRepeatedEverMoreRarely) {
    Site site{.period_by_thread = 320 * us};
    site.run(100);
    EXPECT_EQ(site.run(400), 0);
    EXPECT_GT(site.run(100), 0);  // from run 512
    EXPECT_EQ(site.run(400), 0);
    EXPECT_GT(site.run(100), 0);  // from run 1024
    EXPECT_EQ(site.run(900), 0);
    EXPECT_GT(site.run(100), 0);  // from run 2048
}

TEST(ThreadRecords, SayWhatWasChosenAndWhy) {
    ThreadRecords records;
    const Problem problem{.collective = Collective::allreduce, .ranks = 4, .bytes = 8};
    records.add(problem, false, {-1, -1});
    EXPECT_TRUE(records.in_words().empty());
    records.add(problem, true, {300e3, 220e3});
    const std::vector<std::string> words = records.in_words();
    ASSERT_EQ(words.size(), 1U);
    EXPECT_EQ(words[0],
              "MPI_Iallreduce of 8 B on 4 ranks: the event thread advanced 1 of 2 runs; mean time from "
              "start to start 220.0 us with the event thread, 300.0 us without");
}

}  // namespace
}  // namespace lapwing::kernel
