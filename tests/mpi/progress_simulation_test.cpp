// Lapwing's thread beside a program, simulated: the policies with a clock, calls of the program, and the
// processor time of polls.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>

#include "mpi/native/poll_pace.hpp"
#include "mpi/native/stays.hpp"

namespace lapwing::progress_simulation {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t s = 1'000'000'000;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t mib = 1 << 20;

std::int64_t now = 0;
std::int64_t spent = 0;

// What AsyncProgress does, without a thread.
class Rank {
  public:
    Rank() { now = spent = 0; }

    PollPace::Work work;
    std::int64_t cost = 35 * us;                         // of a wake-up and a poll on a busy machine
    std::function<bool()> moves = [] { return false; };  // whether data has come for this poll
    int polls = 0;

    void start(std::uint64_t bytes) {
        pace_.began(bytes);
        if (bytes == 0) return wake();
        work.messages = true;
        work.bytes += bytes;
        ++messages_;
    }
    void complete() {
        stays_.end_episode();
        work.messages = false;
        work.bytes = 0;
        messages_ = 0;
    }
    void make_window() {
        work.windows = true;
        pace_.began(0);
    }
    // A call of so long that returns to this place; then the program stays outside for so long.
    void call(std::int64_t length, std::uintptr_t place, std::int64_t stay) {
        inside_ = true;
        if (work.messages || work.windows) stays_.returned();
        advance(length);
        inside_ = false;
        if (work.messages || work.windows) {
            const bool stays = stays_.left(reinterpret_cast<const void*>(place), messages_, work.bytes);
            if (pace_.wakes(wakes_at_ != never, stays, stays_.pace())) wake();
        }
        advance(stay);
    }
    // Returns after how long a poll enters the MPI; the program stays outside.
    std::int64_t time_to_poll() {
        const std::int64_t began = now;
        for (const int before = polls; polls == before && now - began < 10 * s;) advance(10 * us);
        return now - began;
    }
    std::int64_t next_wake_up() const { return wakes_at_; }

  private:
    bool has_work() const { return work.messages || work.windows || work.lists; }
    void wake() {
        pace_.woken();
        pause();
    }
    void pause() {
        work.pace = stays_.pace();
        wakes_at_ = has_work() ? now + pace_.next_pause(work).count() : never;
    }
    void advance(std::int64_t time) {
        const std::int64_t until = now + time;
        while (wakes_at_ <= until) {
            now = wakes_at_;
            if (!has_work()) {
                wakes_at_ = never;
                break;
            }
            poll();
            pause();
        }
        now = until;
    }
    void poll() {
        Polled found = Polled::kept_out;
        if (!inside_ || (work.lists && work.lists_always)) {
            found = moves() ? Polled::moved : Polled::nothing;
            ++polls;
        }
        const std::int64_t costs = found == Polled::moved ? 4 * cost : cost;
        spent += costs;
        pace_.polled(found, work, costs);
    }

    PollPace pace_;
    Stays stays_{[] { return static_cast<std::uint64_t>(now + 1); },
                 [] { return static_cast<std::uint64_t>(spent); }};
    int messages_ = 0;
    bool inside_ = false;
    std::int64_t wakes_at_ = never;
};

enum class Thing { message, window, list, list_always };
constexpr Thing things[] = {Thing::message, Thing::window, Thing::list, Thing::list_always};

// Something in flight that the peer never answers.
class Silent : public Rank {
  public:
    explicit Silent(Thing thing) {
        if (thing == Thing::message) {
            start(mib);
        } else if (thing == Thing::window) {
            make_window();
        } else {
            work.lists = true;
            work.lists_always = thing == Thing::list_always;
            start(0);
        }
        call(us, 1, 0);
    }
    // Calls the MPI each `period`. Returns the share of a processor.
    double share(std::int64_t time, std::int64_t period) {
        const std::int64_t before = spent;
        const std::int64_t began = now;
        while (now - began < time) call(us, 2, period);
        return static_cast<double>(spent - before) / static_cast<double>(now - began);
    }
};

TEST(Progress, ASilentPeerCostsLittleWhileTheProgramComputes) {
    for (const Thing thing : things) {
        for (const std::int64_t cost : {5 * us, 35 * us, 200 * us}) {
            Silent rank(thing);
            rank.cost = cost;
            EXPECT_LT(rank.share(600 * s, 600 * s), 0.003) << static_cast<int>(thing) << ' ' << cost;
        }
    }
}

// As by an MPI_Test each millisecond.
TEST(Progress, ASilentPeerCostsLittleBesideCallsOfTheProgram) {
    for (const Thing thing : things) {
        Silent rank(thing);
        EXPECT_LT(rank.share(600 * s, ms), 0.003) << static_cast<int>(thing);
    }
}

// Cold caches look like data.
TEST(Progress, ASilentPeerCostsLittleOnABusyMachine) {
    for (const Thing thing : things) {
        for (const std::int64_t period : {60 * s, ms}) {
            Silent rank(thing);
            rank.moves = [&rank] { return rank.polls % 10 == 9; };
            EXPECT_LT(rank.share(60 * s, period), 0.003) << static_cast<int>(thing) << ' ' << period;
        }
    }
}

// A list whose data only a call of the program unpacks, and one that is complete but not waited for, are not
// in flight for Lapwing's thread.
TEST(Progress, NothingInFlightWakesNobody) {
    for (const Thing thing : things) {
        Silent rank(thing);
        rank.call(us, 1, s);
        rank.complete();
        rank.work = {};
        rank.call(us, 1, s);
        EXPECT_EQ(rank.next_wake_up(), never);
        const std::int64_t before = spent;
        rank.call(us, 1, 600 * s);
        EXPECT_EQ(spent, before);
    }
}

TEST(Progress, AProgramThatCallsAtOnceIsLeftAlone) {
    Rank rank;
    rank.start(mib);
    for (int i = 0; i < 10'000; ++i) rank.call(us, 1, us);
    // Two for the first calls, one each 10 ms.
    EXPECT_LE(rank.polls, 2 + 2);
}

TEST(Progress, APlaceThatAlwaysReturnedMovesWithinTenMilliseconds) {
    for (const std::int64_t stay : {us, 100 * us}) {
        Rank rank;
        for (int i = 0; i < 1'000; ++i) {
            rank.start(mib);
            rank.call(us, 1, stay);
            rank.complete();
            rank.call(us, 2, stay);
        }
        rank.start(mib);
        rank.call(us, 1, 0);
        EXPECT_LE(rank.time_to_poll(), 10 * ms) << stay;
    }
}

TEST(Progress, APlaceThatStaysAwayMovesAtOnce) {
    Rank rank;
    for (int i = 0; i < 4; ++i) {
        rank.start(mib);
        rank.call(us, 1, 0);
        EXPECT_LE(rank.time_to_poll(), 200 * us);
        rank.call(us, 2, 10 * ms);
        rank.complete();
        rank.call(us, 3, 100 * ms);
    }
}

// Create, fence and free, several times without a pause; then the program computes.
TEST(Progress, AWindowIsServedWhereStaysWereShort) {
    Rank rank;
    for (int i = 0; i < 1'000; ++i) {
        rank.make_window();
        rank.call(us, 1, us);
        rank.call(us, 2, us);
        rank.work.windows = false;
        rank.call(us, 3, us);
    }
    rank.call(us, 3, s);
    rank.make_window();
    rank.call(us, 1, 0);
    EXPECT_LE(rank.time_to_poll(), 200 * us);
}

// Also after a time in which no rank has used the window.
TEST(Progress, AWindowThatMovesIsPolledOften) {
    Rank rank;
    rank.make_window();
    rank.call(us, 1, 60 * s);
    rank.moves = [&rank] { return rank.polls % 2 == 0; };
    rank.call(us, 1, 100 * ms);
    const int before = rank.polls;
    rank.call(us, 1, s);
    EXPECT_GT(rank.polls - before, 2'000);
}

}  // namespace
}  // namespace lapwing::progress_simulation
