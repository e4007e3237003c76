// The pace of polls, by simulation: a program, peers, and the processor time of Lapwing's thread.
#include "mpi/native/poll_pace.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace lapwing {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr PollPace::Work message{.messages = true, .bytes = 1 << 20};
constexpr PollPace::Work list{.lists = true};
constexpr PollPace::Work list_always{.lists = true, .lists_always = true};
constexpr std::int64_t idle_cost = 35'000;  // of a wake-up and a poll on a busy machine

// Lapwing's thread while one thing is in flight.
class Thread {
  public:
    explicit Thread(PollPace::Work work) : work_(work) { pace_.begin(); }
    // The program leaves the MPI each `period`, where it stays away for long.
    void call_each(nanoseconds period) { period_ = period; }
    void begin(std::uint64_t bytes) { pace_.began(bytes); }

    // Polls for so long. Returns the share of a processor.
    double poll_in_vain(nanoseconds time) {
        const nanoseconds began = now_;
        std::int64_t spent = 0;
        while (now_ - began < time) {
            poll(Polled::nothing, idle_cost);
            spent += idle_cost;
        }
        return static_cast<double>(spent) / static_cast<double>((now_ - began).count());
    }
    // Returns the pause before it.
    nanoseconds poll(Polled found, std::int64_t cost) {
        nanoseconds pause = pace_.next_pause(work_);
        const nanoseconds until_return = period_ ? *period_ - now_ % *period_ : pause;
        if (until_return < pause && pace_.wakes(true, true, work_.slow)) {
            pause = until_return;
            pace_.woken();
        }
        now_ += pause;
        pace_.polled(found, work_, cost);
        return pause;
    }

  private:
    PollPace pace_;
    PollPace::Work work_;
    std::optional<nanoseconds> period_;
    nanoseconds now_{};
};

TEST(PollPace, ASilentPeerCostsLittleWhileTheProgramComputes) {
    Thread thread(message);
    thread.begin(1 << 20);
    EXPECT_LT(thread.poll_in_vain(600s), 0.003);
}

// As by an MPI_Test each millisecond.
TEST(PollPace, ASilentPeerCostsLittleBesideCallsOfTheProgram) {
    Thread thread(message);
    thread.call_each(1ms);
    thread.begin(1 << 20);
    EXPECT_LT(thread.poll_in_vain(600s), 0.003);
}

// Cold caches look like data.
TEST(PollPace, WhatIsSilentCostsLittleOnABusyMachine) {
    for (const PollPace::Work& work : {message, list, list_always}) {
        Thread thread(work);
        thread.call_each(1ms);
        thread.begin(work.bytes);
        const auto poll = [&](int number) {
            return number % 10 == 0 ? thread.poll(Polled::moved, 4 * idle_cost)
                                    : thread.poll(Polled::nothing, idle_cost);
        };
        for (int i = 0; i < 3'000; ++i) poll(i);
        nanoseconds time{};
        for (int i = 0; i < 1'000; ++i) time += poll(i);
        EXPECT_LT(1'300 * idle_cost, (work.lists ? 0.01 : 0.002) * static_cast<double>(time.count()));
    }
}

TEST(PollPace, WhatSeemsToMoveEarnsNoMoreThanItsBytesAreWorth) {
    Thread thread(message);
    // All but one are complete.
    for (int i = 0; i < 100; ++i) thread.begin(1 << 20);
    for (int i = 0; i < 200; ++i) thread.poll(Polled::moved, 4 * idle_cost);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 10ms);
}

TEST(PollPace, ASilentListCostsLittle) {
    for (const PollPace::Work& work : {list, list_always}) {
        Thread thread(work);
        thread.begin(0);
        EXPECT_LT(thread.poll_in_vain(600s), 0.004);
    }
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
        EXPECT_EQ(thread.poll(Polled::moved, 4 * idle_cost), 10ms);
        EXPECT_LE(longest_while_moving(thread, 10'000), 200us);
        thread.poll_in_vain(60s);
        thread.begin(0);
        EXPECT_LE(thread.poll(Polled::nothing, idle_cost), 200us);
    }
}

TEST(PollPace, AMessageThatArrivesLateIsPolledAsOthersAre) {
    Thread thread(message);
    thread.begin(1 << 20);
    thread.poll_in_vain(60s);
    EXPECT_EQ(thread.poll(Polled::moved, 4 * idle_cost), 80ms);
    // In all 6 ms of processor time, three times what a MiB over 100 Mbit/s takes.
    EXPECT_LE(longest_while_moving(thread, 100), 1ms);
    // In vain again.
    thread.poll_in_vain(60s);
    for (const nanoseconds pause : {80ms, 20ms, 10ms, 10ms}) EXPECT_EQ(thread.poll(Polled::moved, 0), pause);
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
    EXPECT_GT(thread.poll_in_vain(1s), 0.003);
    thread.poll_in_vain(4s);
    EXPECT_LT(thread.poll_in_vain(60s), 0.003);
}

TEST(PollPace, IsSlowWhereThatWasLearned) {
    Thread thread({.messages = true, .bytes = 1 << 20, .slow = true, .in_episode = true});
    thread.begin(1 << 20);
    for (const nanoseconds pause : {10ms, 20ms, 40ms, 80ms, 80ms})
        EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), pause);
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
    thread.poll_in_vain(60s);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 2ms);
    thread.poll(Polled::moved, idle_cost);
    EXPECT_EQ(thread.poll(Polled::nothing, idle_cost), 300us);
}

// The call of the program wakes the thread at its end.
TEST(PollPace, LooksSeldomWhereTheProgramWaitsInTheMpi) {
    Thread thread(message);
    thread.begin(1 << 20);
    thread.poll(Polled::kept_out, idle_cost);
    thread.poll(Polled::kept_out, idle_cost);
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
    EXPECT_TRUE(pace.wakes(true, true, false));
    EXPECT_FALSE(pace.wakes(true, false, false));
    EXPECT_FALSE(pace.wakes(true, true, true));
    // From a sleep without end, always.
    EXPECT_TRUE(pace.wakes(false, false, false));
    EXPECT_TRUE(pace.wakes(false, false, true));
}

TEST(PollMeter, TellsDataByTheTimeThatTheyTake) {
    PollMeter meter;
    EXPECT_FALSE(meter.moves(4'000));
    EXPECT_TRUE(meter.moves(50'000));
    EXPECT_FALSE(meter.moves(5'000));
    // Colder caches are no data for long.
    int moves = 0;
    for (int i = 0; i < 1'000; ++i) moves += meter.moves(40'000) ? 1 : 0;
    EXPECT_LT(moves, 50);
}

}  // namespace
}  // namespace lapwing
