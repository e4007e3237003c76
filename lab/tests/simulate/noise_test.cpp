// What takes processors away: lengths of work by hand, and shares of time.
#include "simulate/noise.hpp"

#include "cases.hpp"
#include "support/unit.hpp"

namespace lapwing::simulate {
namespace {

// The noise strikes for 5 of each 100, from a random place on.
TEST(Stream, WorkEndsWhenSoMuchTimeWasUndisturbed) {
    const Time round = 100 * nanosecond;
    const Noise noise{.period = round, .length = 5 * nanosecond};
    // Where it begins: work of no length stands still at the interruption only.
    NoiseStream probe(noise, 0);
    Time first = 0;
    while (probe.finish(noise, first, 1) == first + 1) ++first;
    const auto finish = [&](Time begin, Time work) {
        NoiseStream stream(noise, 0);
        return stream.finish(noise, first + begin, work) - first;
    };
    EXPECT_EQ(finish(0, 0), 0);
    EXPECT_EQ(finish(0, 1), 5001);
    EXPECT_EQ(finish(5000, 95000), round);
    EXPECT_EQ(finish(5000, 95001), round + 5001);
    // Of each round 95 are left.
    EXPECT_EQ(finish(0, 950000), 10 * round);
    EXPECT_EQ(finish(1000 * round, 1), 1000 * round + 5001);
}

TEST(Stream, PeriodicNoiseTakesItsShare) {
    const Noise noise{.period = 1000000, .length = 25000};
    NoiseStream stream(noise, 7);
    // A thousand times 975 of work take a thousand periods, from wherever it begins.
    const Time end = stream.finish(noise, 0, 975000 * 1000);
    EXPECT_NEAR(static_cast<double>(end), 1e9, 25000);
}

TEST(Stream, ProcessorsAreStruckAtTheirOwnTimes) {
    const Noise noise{.period = 1000000, .length = 25000};
    std::set<Time> ends;
    for (std::uint64_t processor = 0; processor < 20; ++processor)
        ends.insert(NoiseStream(noise, processor).finish(noise, 0, 990000));
    EXPECT_GT(ends.size(), 1);
}

TEST(Stream, WhatHappensDependsOnTheSeed) {
    const auto end = [](std::uint64_t seed) {
        const Noise noise{.period = 1000000, .length = 900000, .seed = seed};
        return NoiseStream(noise, 3).finish(noise, 0, 1000);
    };
    EXPECT_EQ(end(1), end(1));
    EXPECT_NE(end(1), end(2));
}

// Ferreira, Bridges, Brightwell 2008: a burst that is longer than the collective delays it with a probability
// that grows with the ranks, until it always does.
TEST(Barriers, OfManyRanksMeetTheLongestBurstEachTime) {
    const auto slowdown = [](const char* name, int ranks, Time frequency) {
        Setting setting{.engine = engine(name), .parameters = parameters(6000, 1000)};
        setting.program = {.iterations = 40, .work = 100000 * nanosecond};
        const Lists lists = lists_for(Collective::barrier, "dissemination", ranks);
        const double quiet = to_seconds(simulate(lists, setting).end());
        setting.noise = {.period = 1000000000 * nanosecond / frequency,
                         .length = 25000000 * nanosecond / frequency};
        return to_seconds(simulate(lists, setting).end()) / quiet;
    };
    // 10 Hz x 2500 us.
    EXPECT_LT(slowdown("host", 4, 10), 4);
    EXPECT_GT(slowdown("host", 1024, 10), 10);
    // Many short bursts take little more than their share.
    EXPECT_LT(slowdown("host", 1024, 1000), 1.5);
}

}  // namespace
}  // namespace lapwing::simulate
