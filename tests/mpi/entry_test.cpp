#include "mpi/native/entry.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lapwing {
namespace {

TEST(Entry, AdmitsOneThreadAtATime) {
    constexpr int threads = 3;
    constexpr int times = LAPWING_TEST_FEWER ? 1'000 : 20'000;
    int inside = 0;
    int all = 0;
    bool alone = true;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
        running.emplace_back([&] {
            for (int i = 0; i < times; ++i) {
                const Entry entry;
                const Entry nested;
                alone = alone && ++inside == 1;
                ++all;
                --inside;
            }
        });
    }
    for (std::thread& thread : running) thread.join();
    EXPECT_TRUE(alone);
    EXPECT_EQ(all, threads * times);
}

TEST(Entry, AThreadThatOnlyTriesDoesNotWait) {
    {
        const Entry entry;
        std::thread([] { EXPECT_FALSE(Entry::try_enter()); }).join();
    }
    ASSERT_TRUE(Entry::try_enter());
    EXPECT_TRUE(Entry::busy());
    Entry::leave();
    EXPECT_FALSE(Entry::busy());
}

}  // namespace
}  // namespace lapwing
