// The pace of polls, by simulation: a program, peers, and the processor time of Lapwing's thread.
#include "mpi/native/poll_pace.hpp"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr PollPace::Work message{.messages = true, .bytes = 1 << 20};
constexpr PollPace::Work list{.lists = true};
constexpr PollPace::Work list_always{.lists = true, .lists_always = true};
constexpr std::int64_t idle_cost = 35'000;  // of a wake-up and a poll on a busy machine
constexpr nanoseconds in_vain = 35ms;       // 1000 times as long

// Lapwing's thread while one thing is in flight.
class Thread {
  public:
    explicit Thread(PollPace::Work work) : work_(work) { pace_.woken(); }
    void is_now(const PollPace::Work& work) { work_ = work; }
    void begin(std::uint64_t bytes) { pace_.began(bytes); }

    void poll_in_vain(nanoseconds time) {
        for (const nanoseconds end = now_ + time; now_ < end;) poll(Polled::nothing, idle_cost);
    }
    // Returns the pause before it.
    nanoseconds poll(Polled found, std::int64_t cost) {
        const nanoseconds pause = pace_.next_pause(work_);
        now_ += pause;
        pace_.polled(found, work_, cost);
        return pause;
    }

  private:
    PollPace pace_;
    PollPace::Work work_;
    nanoseconds now_{};
};

TEST(PollPace, WhatSeemsToMoveEarnsNoMoreThanItsBytesAreWorth) {
    Thread thread(message);
    // All but one are complete.
    for (int i = 0; i < 100; ++i) thread.begin(1 << 20);
    for (int i = 0; i < 200; ++i) thread.poll(Polled::moved, 4 * idle_cost);
    thread.poll(Polled::nothing, idle_cost);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), in_vain);
}

// The longest of so many pauses, while one poll of four moves data.
nanoseconds longest_while_moving(Thread& thread, int polls) {
    nanoseconds longest{};
    for (int i = 0; i < polls; ++i)
        longest = std::max(longest, i % 4 == 0 ? thread.poll(Polled::moved, 4 * idle_cost)
                                               : thread.poll(Polled::nothing, idle_cost));
    return longest;
}

TEST(PollPace, ListsThatMoveArePolledOften) {
    for (const PollPace::Work& work : {list, list_always}) {
        Thread thread(work);
        thread.begin(0);
        thread.poll_in_vain(60s);
        EXPECT_EQ(thread.poll(Polled::moved, 4 * idle_cost), in_vain);
        EXPECT_LE(longest_while_moving(thread, 10'000), 200us);
        thread.poll_in_vain(60s);
        thread.begin(0);
        EXPECT_LE(thread.poll(Polled::nothing, idle_cost), 200us);
    }
}

// The program completes them by itself.
TEST(PollPace, ShortListsInARowArePolledSeldom) {
    for (PollPace::Work row : {list, list_always, PollPace::Work{}}) {
        const PollPace::Work stands = row;
        row.lists_begun = 4;
        Thread thread(row);
        thread.begin(0);
        EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 200us);
        for (int i = 0; i < 100; ++i) {
            thread.begin(0);
            thread.poll(Polled::nothing, idle_cost);
        }
        EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 1ms);
        // Longer ones, or one that the program leaves alone.
        for (const int begun : {3, 0}) {
            if (begun == 0 && !stands.lists) continue;
            PollPace::Work now = stands;
            now.lists_begun = begun;
            thread.is_now(now);
            EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 200us);
            thread.is_now(row);
        }
        EXPECT_EQ(thread.poll(Polled::moved, idle_cost), 1ms);
        EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 300us);
    }
}

TEST(PollPace, AMessageThatArrivesLateIsPolledAsOthersAre) {
    Thread thread(message);
    thread.begin(1 << 20);
    thread.poll_in_vain(60s);
    EXPECT_EQ(thread.poll(Polled::moved, 4 * idle_cost), in_vain);
    // In all 6 ms of processor time, three times what a MiB over 100 Mbit/s takes.
    EXPECT_LE(longest_while_moving(thread, 100), 1ms);
    // In vain again: so many times the cost of the last poll.
    thread.poll_in_vain(60s);
    EXPECT_EQ(thread.poll(Polled::nothing, 150'000), in_vain);
    EXPECT_EQ(thread.poll(Polled::nothing, 10'000'000), 150ms);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 200ms);
    EXPECT_EQ(thread.poll(Polled::nothing, 1), in_vain);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 5ms);
}

// Twice its cost, also if data came shortly before.
TEST(PollPace, DataPayForPollsInVain) {
    for (const int between : {3, 4}) {
        for (const PollPace::Work& work : {message, list, PollPace::Work{.windows = true}}) {
            Thread thread(work);
            thread.begin(work.bytes);
            thread.poll_in_vain(60s);
            thread.poll(Polled::moved, 4 * idle_cost);
            for (int i = 0; i < between; ++i) thread.poll(Polled::nothing, idle_cost);
            EXPECT_EQ(thread.poll(Polled::moved, 4 * idle_cost), in_vain);
            EXPECT_LE(thread.poll(Polled::nothing, idle_cost), 1ms);
            int polls = 0;
            while (thread.poll(Polled::nothing, idle_cost) < in_vain) ++polls;
            EXPECT_EQ(polls, between == 3 ? 4 : 0);
        }
    }
}

// One that begins is not polled less because another one is silent.
TEST(PollPace, EachMessageHasItsBudget) {
    Thread thread(message);
    thread.begin(1 << 20);
    thread.poll_in_vain(60s);
    for (int i = 0; i < 100; ++i) {
        thread.begin(1 << 15);
        EXPECT_LE(thread.poll(Polled::nothing, idle_cost), 5ms);
    }
    // Its own, and not more than what is in flight is worth.
    int polls = 0;
    while (thread.poll(Polled::nothing, idle_cost) <= 5ms) ++polls;
    EXPECT_EQ(polls, 14'194'304 / idle_cost);
}

TEST(PollPace, IsSlowWhereThatWasLearned) {
    Thread thread({.messages = true, .bytes = 1 << 20, .pace = Pace::slow});
    thread.begin(1 << 20);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 10ms);
}

TEST(PollPace, GrowsWhileNothingMoves) {
    Thread thread(message);
    thread.begin(1 << 20);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 200us);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 300us);
    for (int i = 2; i < 16; ++i) EXPECT_LE(thread.poll(Polled::nothing, idle_cost), 1ms);
    for (int i = 0; i < 16; ++i) thread.poll(Polled::nothing, idle_cost);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 5ms);
    thread.poll(Polled::moved, idle_cost);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 1ms);
}

TEST(PollPace, PollsWindowsAgainAtOnceWhereTheyMove) {
    Thread thread({.windows = true});
    thread.begin(0);
    for (int i = 0; i < 100; ++i) thread.poll(Polled::nothing, idle_cost);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 1ms);
    thread.poll(Polled::moved, idle_cost);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 300us);
}

// The call of the program wakes the thread at its end.
TEST(PollPace, LooksSeldomWhereTheProgramWaitsInTheMpi) {
    Thread thread(message);
    thread.begin(1 << 20);
    thread.poll(Polled::kept_out, idle_cost);
    EXPECT_LE(thread.poll(Polled::kept_out, idle_cost), 1ms);
    for (int i = 0; i < 10'000; ++i) EXPECT_EQ(thread.poll(Polled::kept_out, idle_cost), 10ms);
    // None of this was at the cost of the message.
    thread.poll(Polled::nothing, idle_cost);
    EXPECT_LE(thread.poll(Polled::nothing, idle_cost), 5ms);
    Thread waiting(list);
    waiting.begin(0);
    for (int i = 0; i < 100; ++i) EXPECT_LE(waiting.poll(Polled::kept_out, idle_cost), 5ms);
    Thread lists(list_always);
    lists.begin(0);
    for (int i = 0; i < 100; ++i) EXPECT_LE(lists.poll(Polled::kept_out, idle_cost), 200us);
}

TEST(PollPace, WakesFromAPauseWhereTheProgramStaysAway) {
    const PollPace pace;
    EXPECT_TRUE(pace.wakes(true, true, Pace::fast));
    EXPECT_FALSE(pace.wakes(true, false, Pace::fast));
    EXPECT_FALSE(pace.wakes(true, true, Pace::slow));
    // From a sleep without end, always.
    EXPECT_TRUE(pace.wakes(false, false, Pace::fast));
    EXPECT_TRUE(pace.wakes(false, false, Pace::slow));
}

TEST(PollMeter, TellsDataByTheTimeThatTheyTake) {
    for (const nanoseconds pause : {0ms, 1ms, 80ms}) {
        EXPECT_FALSE(PollMeter().moves(16'000, pause));
        EXPECT_TRUE(PollMeter().moves(16'001, pause));
        PollMeter meter;
        EXPECT_FALSE(meter.moves(4'000, pause));
        EXPECT_TRUE(meter.moves(50'000, pause));
        EXPECT_FALSE(meter.moves(5'000, pause));
        // Colder caches are no data for long.
        int moves = 0;
        for (int i = 0; i < 1'000; ++i) moves += meter.moves(40'000, pause) ? 1 : 0;
        EXPECT_LT(moves, 200);
    }
}

// On a busy machine: after 30 ms, and directly afterwards.
TEST(PollMeter, ColdCachesAreNoData) {
    PollMeter meter;
    int moves = 0;
    for (int i = 0; i < 1'000; ++i) {
        moves += meter.moves(12'000, 30ms) ? 1 : 0;
        moves += meter.moves(2'900, 1ms) ? 1 : 0;
        moves += meter.moves(400, 0ms) ? 1 : 0;
    }
    EXPECT_EQ(moves, 0);
    EXPECT_TRUE(meter.moves(10'000, 5ms));
}

TEST(PollMeter, TheFloorRisesAfterACheapPoll) {
    PollMeter meter;
    EXPECT_FALSE(meter.moves(4'000, 1ms));
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(meter.moves(12'000, 1ms));
    EXPECT_FALSE(meter.moves(30'000, 1ms));
    EXPECT_FALSE(meter.moves(0, 0ms));
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(meter.moves(900, 0ms));
    EXPECT_TRUE(meter.moves(1'050, 0ms));
}

TEST(PollMeter, DataThatArriveForLongStayData) {
    PollMeter meter;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(meter.moves(40'000, 1ms)) << i;
}

}  // namespace
}  // namespace lapwing
