#include "mpi/native/handle_set.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace lapwing {
namespace {

TEST(HandleSet, HasTheBytesOfEachHandle) {
    HandleSet set;
    EXPECT_EQ(set.insert(7, 100), 0U);
    EXPECT_EQ(set.insert(8, 200), 0U);
    EXPECT_EQ(HandleSet::bytes_of(set.find(7)), 100U);
    EXPECT_EQ(HandleSet::bytes_of(set.find(8)), 200U);
    EXPECT_TRUE(set.erase(7, set.find(7)));
    EXPECT_EQ(set.find(7), 0U);
    EXPECT_FALSE(set.erase(7, set.find(7)));
    EXPECT_NE(set.find(8), 0U);
}

// A thread's call of the MPI completes a request; before the thread erases it, another thread starts one that
// gets the same handle.
TEST(HandleSet, ErasesNotTheNextRequestOfAHandle) {
    HandleSet set;
    set.insert(7, 100);
    const HandleSet::Entry first = set.find(7);
    EXPECT_EQ(set.insert(7, 100), first);
    const HandleSet::Entry second = set.find(7);
    EXPECT_FALSE(set.erase(7, first));
    EXPECT_EQ(set.find(7), second);
    EXPECT_TRUE(set.erase(7, second));
    EXPECT_EQ(set.find(7), 0U);
}

TEST(HandleSet, LeavesOutWhatHasNoPlace) {
    HandleSet set;
    int kept = 0;
    for (std::uint64_t handle = 1; handle <= 2'000; ++handle) kept += set.insert(handle, 1) ? 1 : 0;
    EXPECT_GT(kept, 800);
    EXPECT_LE(kept, 1'024);
    for (std::uint64_t handle = 1; handle <= 2'000; ++handle) set.erase(handle, set.find(handle));
    for (std::uint64_t handle = 1; handle <= 100; ++handle) EXPECT_EQ(set.insert(handle, 1), 0U);
}

// Each insertion is erased once: by its thread, or by the insertion of the same handle.
TEST(HandleSet, CountsRightWithThreads) {
    HandleSet set;
    std::atomic<int> in_set{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20'000; ++i) {
                const auto handle = static_cast<std::uint64_t>(1 + i % 5);
                if (const auto before = set.insert(handle, 1)) in_set += *before == 0 ? 1 : 0;
                if (set.erase(handle, set.find(handle))) --in_set;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::uint64_t handle = 1; handle <= 5; ++handle) {
        while (set.erase(handle, set.find(handle))) --in_set;
    }
    EXPECT_EQ(in_set, 0);
}

}  // namespace
}  // namespace lapwing
