#include "mpi/native/stays.hpp"

#include <gtest/gtest.h>

namespace lapwing::stays_test {
namespace {

constexpr std::uint64_t us = 1'000;
constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t bytes = 1 << 20;

std::uint64_t now = 0;
std::uint64_t spent = 0;
int looks = 0;  // at the clock

// A program with messages in flight.
class Program {
  public:
    Program() {
        now = 1;
        spent = 0;
    }
    // A call returns to this place, and the next one follows after so long. Returns what was predicted.
    bool stay(std::uintptr_t place, std::uint64_t time, int messages = 1, std::uint64_t size = bytes) {
        const bool stays = leave(place, messages, size);
        pace = stays_.pace();
        now += time;
        stays_.returned();
        return stays;
    }
    bool leave(std::uintptr_t place, int messages = 1, std::uint64_t size = bytes) {
        return stays_.left(reinterpret_cast<const void*>(place), messages, size);
    }
    // A long stay, calls of so long in all, and so much processor time of Lapwing's thread. Returns the pace.
    Pace episode(std::uint64_t in_calls, std::uint64_t of_thread = 0, std::uint64_t size = bytes) {
        stay(1, ms, 1, size);
        const Pace chosen = pace;
        now += in_calls;
        spent += of_thread;
        leave(2);
        stays_.end_episode();
        return chosen;
    }

    Pace pace = Pace::slow;  // during the last stay
    Stays stays_{[] {
                     ++looks;
                     return now;
                 },
                 [] { return spent; }};
};

TEST(Stays, APlacePredictsWhatItHasSeen) {
    Program program;
    EXPECT_TRUE(program.stay(1, 199'999));                         // the first time; 0 now
    EXPECT_FALSE(program.stay(1, 200'000));                        // 2
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(program.stay(1, ms));  // 4, and not more
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(program.stay(1, us));
    // Of 16 calls one is measured: -3, and not less.
    for (int i = 0; i < 10 * 16; ++i) EXPECT_FALSE(program.stay(1, us)) << i;
    for (int i = 0; i < 2 * 16; ++i) EXPECT_FALSE(program.stay(1, ms)) << i;
    EXPECT_TRUE(program.stay(1, ms));
}

TEST(Stays, CallsThatFollowAtOnceDoNotLookAtTheClock) {
    Program program;
    for (int i = 0; i < 100; ++i) program.stay(1, us);
    looks = 0;
    for (int i = 0; i < 160; ++i) program.stay(1, us);
    EXPECT_EQ(looks, 2 * 10);
}

// A loop over neighbours, and a program that has messages of several sizes.
TEST(Stays, PlacesDifferByMessagesAndBytesInFlight) {
    Program program;
    program.stay(1, us);
    EXPECT_FALSE(program.stay(1, us));
    EXPECT_TRUE(program.stay(1, us, 2));
    EXPECT_TRUE(program.stay(1, us, 1, 2 * bytes));
    EXPECT_FALSE(program.stay(1, us, 1, bytes + 1));
    EXPECT_TRUE(program.stay(2, us, 3));
}

TEST(Stays, TimeOutsideIsCounted) {
    Program program;
    program.stay(1, 100 * us);
    now += 5 * ms;
    program.stay(2, 3 * ms);
    EXPECT_EQ(program.stays_.time(), 3'100 * us);
    // Another thread has returned.
    program.stays_.returned();
    EXPECT_EQ(program.stays_.time(), 3'100 * us);
}

TEST(Stays, AnEpisodeBeginsWithALongStayAndEndsWithTheLastMessage) {
    Program program;
    program.stay(1, ms, 0, 0);
    EXPECT_EQ(program.pace, Pace::slow);  // a window
    program.stay(2, us);
    program.stay(2, us);
    EXPECT_EQ(program.pace, Pace::fast);
    program.stays_.end_episode();
    program.stay(2, us);
    EXPECT_EQ(program.pace, Pace::slow);
    program.stay(3, ms);
    EXPECT_EQ(program.pace, Pace::fast);
    program.stays_.end_episode();
    EXPECT_EQ(program.stays_.pace(), Pace::slow);
}

// Episodes at the fast pace, of so much; returns at which cost the slow pace is still kept.
bool is_cheaper(std::uint64_t fast, std::uint64_t slow_in_calls, std::uint64_t slow_of_thread) {
    Program program;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(program.episode(fast), Pace::fast);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(program.episode(slow_in_calls, slow_of_thread), Pace::slow);
    return program.episode(fast) == Pace::slow;
}

TEST(Stays, AnEpisodeCostsTheTimeInCallsAndTwiceTheThreads) {
    EXPECT_TRUE(is_cheaper(8 * ms, 7 * ms, 0));
    EXPECT_FALSE(is_cheaper(8 * ms, 7 * ms + 1, 0));
    EXPECT_TRUE(is_cheaper(8 * ms, ms, 3 * ms));
    EXPECT_FALSE(is_cheaper(8 * ms, ms, 3 * ms + 1));
}

// As in PETSc: a wait for nothing, directly before the wait for the messages.
TEST(Stays, AllCallsAfterTheLongStayCount) {
    for (const bool dear : {false, true}) {
        Program program;
        program.stay(4, us);
        program.stays_.end_episode();
        const auto episode = [&](std::uint64_t last) {
            program.stay(4, us);  // before it
            now += 50 * ms;       // not in a call that counts
            program.stay(1, ms);
            const Pace pace = program.pace;
            now += 2 * ms;
            program.stay(2, 10 * us);  // the empty wait
            now += last;
            program.stays_.end_episode();  // in the middle of a call
            now += 70 * ms;
            program.leave(3, 0, 0);
            return pace;
        };
        for (int i = 0; i < 4; ++i) episode(6 * ms);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(episode(5 * ms + (dear ? 1 : 0)), Pace::slow);
        EXPECT_EQ(episode(0), dear ? Pace::fast : Pace::slow);
    }
}

// Without a long stay nothing was measured.
TEST(Stays, ShortEpisodesTeachNothing) {
    Program program;
    for (int i = 0; i < 3; ++i) program.episode(ms);
    for (int i = 0; i < 3; ++i) {
        program.stay(1, us);
        now += ms;
        program.stays_.end_episode();
    }
    EXPECT_EQ(program.episode(ms), Pace::fast);
    EXPECT_EQ(program.episode(ms), Pace::slow);
}

}  // namespace
}  // namespace lapwing::stays_test
