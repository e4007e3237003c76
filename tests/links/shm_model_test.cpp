// The protocol of the shared memory in every order of its steps, with two and three ranks: every message
// arrives, whole and in order, and nobody sleeps for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "links/explorer.hpp"
#include "links/shm_scenario.hpp"

// Its threads are contexts that sanitizers do not know.
#if !LAPWING_TEST_FEWER

namespace lapwing::shm {
namespace {

using test::Explorer;

struct Model {
    template <typename Value>
    using Word = test::Explored<Value>;

    class Mutex {
      public:
        void lock() {
            for (;;) {
                const std::uint64_t writes = Explorer::writes();
                if (held_.exchange(1) == 0) return;
                Explorer::pause(writes);
            }
        }
        void unlock() { held_.store(0); }

      private:
        Word<std::uint32_t> held_;
    };

    static void fence() {}
    struct Cells {
        void watch(const void*, std::uint64_t, std::uint64_t) {}
    };
    static void writes(const void*, std::uint64_t) {}
    static void reads(const void*, std::uint64_t) {}
    static std::uint64_t so_far() { return Explorer::writes(); }
    static void pause(std::uint64_t so_far) { Explorer::pause(so_far); }
    static void fail(const char* why) { Explorer::fail(why); }
    static void wake(Word<std::uint32_t>& word) { Explorer::wake(&word); }
    // Nobody sleeps at a pipe here.
    static void wake(int) {}
    // A ring that is lost is a sleep for ever: there is no limit.
    static void sleep(const Word<std::uint32_t>& word, std::uint32_t value, long) {
        Explorer::point(false);
        if (word.peek() == value) Explorer::sleep(&word);
    }
    static std::uint64_t nanoseconds() { return 1; }
    // The system refuses copies after so many of them.
    static inline int copies_left = INT_MAX;
    static bool refuses() {
        if (copies_left == 0) return true;
        --copies_left;
        return false;
    }
    static int copy_from(pid_t, std::uint64_t address, std::byte* target, std::uint64_t bytes) {
        Explorer::point(false);
        if (refuses()) return EPERM;
        std::memcpy(target, reinterpret_cast<const void*>(address), bytes);
        return 0;
    }
    static int copy_to(pid_t, std::uint64_t address, const std::byte* source, std::uint64_t bytes) {
        Explorer::point(false);
        if (refuses()) return EPERM;
        std::memcpy(reinterpret_cast<void*>(address), source, bytes);
        return 0;
    }
};

// In all schedules with up to so many preemptions. `copies`: so many the system permits.
Explorer::Result explore(const Scenario& scenario, int preemptions, int copies = INT_MAX) {
    const auto make = [&] {
        Model::copies_left = copies;
        auto world = std::make_shared<World<Model>>(scenario);
        std::vector<std::function<void()>> threads;
        for (int thread = 0; thread < scenario.threads(); ++thread)
            threads.emplace_back([world, thread] { world->run(thread); });
        return threads;
    };
    return Explorer::explore(make, preemptions);
}

constexpr Geometry measuring{
    .slots = 2, .payload = 256, .tickets = 2, .chunk = 80, .measures_ways = true, .patience = 0};

void expect_all_right(Scenario scenario, int preemptions, std::uint64_t least) {
    scenario.answers_first = true;
    const Explorer::Result result = explore(scenario, preemptions);
    EXPECT_EQ(result.failure, "") << "in schedule " << result.schedules;
    EXPECT_GE(result.schedules, least);
    testing::Test::RecordProperty("schedules", static_cast<int>(result.schedules));
}

TEST(ShmModel, TwoRanksShortMessages) {
    for (const bool sleeps : {false, true})
        expect_all_right({2, {8, 0, 60, 64, 8}, tiny, true, sleeps}, 2, 900);
}

TEST(ShmModel, TwoRanksLongMessagesCopiedByBoth) {
    for (const bool sleeps : {false, true}) expect_all_right({2, {8, 200, 100}, tiny, true, sleeps}, 2, 900);
}

TEST(ShmModel, TwoRanksLongMessagesInPieces) {
    for (const bool sleeps : {false, true}) expect_all_right({2, {8, 200, 100}, tiny, false, sleeps}, 2, 900);
}

TEST(ShmModel, TwoRanksLongMessagesInPiecesOrCopiedByTheReceiver) {
    for (const bool sleeps : {false, true}) expect_all_right({2, {8, 200, 100}, mixed, true, sleeps}, 2, 900);
}

// A container may forbid it to one rank only.
TEST(ShmModel, TwoRanksOfWhichOneMayCopy) {
    for (const bool sleeps : {false, true}) {
        for (const Direct direct : {Direct(true, false), Direct(false, true)}) {
            expect_all_right({2, {8, 200, 100}, tiny, direct, sleeps}, 2, 900);
            expect_all_right({2, {8, 200, 100}, mixed, direct, sleeps}, 2, 900);
        }
    }
}

// It permitted them at first: the rank whose copy is refused gives up, with what to do.
TEST(ShmModel, TheSystemRefusesCopiesFromNowOn) {
    for (const Geometry& geometry : {tiny, mixed}) {
        for (const int copies : {0, 1}) {
            const Explorer::Result result = explore({2, {200}, geometry}, 0, copies);
            EXPECT_THAT(result.failure, testing::AllOf(testing::HasSubstr("Operation not permitted"),
                                                       testing::HasSubstr("LAPWING_TRANSFER=processor")));
        }
    }
}

// The first messages go by both ways in turn.
TEST(ShmModel, TwoRanksThatMeasureBothWays) {
    for (const bool sleeps : {false, true})
        expect_all_right({2, {100, 120, 200}, measuring, true, sleeps}, 2, 900);
}

TEST(ShmModel, ThreeRanks) {
    for (const bool sleeps : {false, true}) {
        expect_all_right({3, {8, 120}, mixed, true, sleeps}, 1, 500);
        expect_all_right({3, {8}, tiny, true, sleeps}, 2, 5000);
        expect_all_right({3, {8, 120}, tiny, true, sleeps}, 1, 500);
    }
}

// Rank 0 exchanges one message with rank 1, and then computes: its progress thread completes the message.
TEST(ShmModel, AHelperMovesWhatTheProgramHasStarted) {
    expect_all_right({2, {8}, tiny, true, true, true}, 1, 500);
    expect_all_right({2, {200}, tiny, true, true, true}, 0, 20);
    expect_all_right({2, {200}, mixed, true, true, true}, 0, 20);
    expect_all_right({2, {100}, tiny, false, true, true}, 0, 20);
}

// What the explorer is for: the sleeper looks for news before it says that it sleeps.
TEST(ShmModel, ARingThatIsLostIsFound) {
    const Explorer::Result result = Explorer::explore(
        [] {
            struct Two {
                Doorbell<Model> doorbell{};
                Model::Word<std::uint32_t> news;
            };
            auto two = std::make_shared<Two>();
            return std::vector<std::function<void()>>{[two] {
                                                          const std::uint32_t seen =
                                                              two->doorbell.rings.load();
                                                          if (two->news.load() != 0) return;
                                                          two->doorbell.asleep.store(1);
                                                          Model::sleep(two->doorbell.rings, seen, 0);
                                                      },
                                                      [two] {
                                                          two->news.store(1);
                                                          ring(two->doorbell);
                                                      }};
        },
        2);
    EXPECT_EQ(result.failure, "these wait for ever: 0");
}

}  // namespace
}  // namespace lapwing::shm

#endif
