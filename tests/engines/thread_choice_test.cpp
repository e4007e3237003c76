// The choice of who advances short reductions: from times that are given, not measured.
#include "engines/kernel/thread_choice.hpp"

#include <gtest/gtest.h>

namespace lapwing::kernel {
namespace {

constexpr std::uint64_t us = 1000;

// A call site. Its runs cost what the members say, in nanoseconds.
struct Site {
    std::uint64_t away = 200 * us;
    std::uint64_t wait_without_thread = 80 * us;
    std::uint64_t wait_with_thread = 2 * us;
    std::uint64_t stolen = 0;  // by the event thread: the program is away for longer
    std::uint64_t thread = 10 * us;
    ThreadChoice choice = {};

    // Returns how many of the runs the event thread has advanced.
    int run(int runs) {
        int by_thread = 0;
        for (int i = 0; i < runs; ++i) {
            const bool chosen = choice.next();
            by_thread += chosen ? 1 : 0;
            choice.completed({.by_thread = chosen,
                              .start = 5 * us,
                              .away = away + (chosen ? stolen : 0),
                              .wait = chosen ? wait_with_thread : wait_without_thread,
                              .thread = chosen ? thread : 0});
        }
        return by_thread;
    }
};

TEST(ThreadChoice, AProgramThatWaitsAtOnceNeverWakesTheThread) {
    Site site{.away = 1 * us};
    EXPECT_EQ(site.run(5000), 0);
}

TEST(ThreadChoice, TheThreadAdvancesWhatItHides) {
    Site site;
    site.run(60);
    EXPECT_EQ(site.run(100), 100);
    EXPECT_DOUBLE_EQ(site.choice.costs()[0], 85e3);
    EXPECT_DOUBLE_EQ(site.choice.costs()[1], 7e3);
}

TEST(ThreadChoice, TheThreadDoesNotTakeMoreThanItHides) {
    Site site{.wait_without_thread = 20 * us, .stolen = 30 * us, .thread = 40 * us};
    site.run(60);
    EXPECT_EQ(site.run(400), 0);
    EXPECT_DOUBLE_EQ(site.choice.costs()[1], 37e3);
}

// A computation that is longer by chance is not the thread's fault.
TEST(ThreadChoice, TheThreadTakesAtMostItsProcessorTime) {
    Site site{.stolen = 1000 * us};
    site.run(60);
    EXPECT_EQ(site.run(100), 100);
    EXPECT_DOUBLE_EQ(site.choice.costs()[1], 17e3);
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
    for (int i = 0; i < 6; ++i) EXPECT_EQ(one.run(1), late.run(1)) << i;
}

TEST(ThreadChoice, ANewSituationIsNoticed) {
    Site site{.wait_without_thread = 1 * us, .stolen = 20 * us, .thread = 20 * us};
    EXPECT_LT(site.run(400), 60);
    site.wait_without_thread = 500 * us;
    site.run(200);
    EXPECT_EQ(site.run(50), 50);
    site.wait_with_thread = 900 * us;
    site.run(200);
    EXPECT_LE(site.run(50), 0);
}

TEST(ThreadChoice, TrialsAreRepeatedEverMoreRarely) {
    Site site{.wait_without_thread = 10 * us, .stolen = 30 * us, .thread = 40 * us};
    site.run(100);
    const auto trials = [&](int runs) { return site.run(runs); };
    EXPECT_EQ(trials(400), 0);
    EXPECT_GT(trials(100), 0);  // from run 512
    EXPECT_EQ(trials(400), 0);
    EXPECT_GT(trials(100), 0);  // from run 1024
    EXPECT_EQ(trials(900), 0);
    EXPECT_GT(trials(100), 0);  // from run 2048
}

TEST(ThreadRecords, SayWhatWasChosenAndWhy) {
    ThreadRecords records;
    const Problem problem{.collective = Collective::allreduce, .ranks = 4, .bytes = 8};
    records.add(problem, false, {-1, -1});
    EXPECT_TRUE(records.in_words().empty());
    records.add(problem, true, {85e3, 7e3});
    const std::vector<std::string> words = records.in_words();
    ASSERT_EQ(words.size(), 1U);
    EXPECT_EQ(words[0],
              "MPI_Iallreduce of 8 B on 4 ranks: the event thread advanced 1 of 2 runs; a run takes 7.0 us "
              "from the program with the event thread, 85.0 us without");
}

}  // namespace
}  // namespace lapwing::kernel
