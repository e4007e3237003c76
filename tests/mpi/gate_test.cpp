#include "mpi/native/gate.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

namespace lapwing {
namespace {

bool is_observed() {
    return (gate::attention & gate::observed) != 0;
}

// A thread finds that nothing is pending; before it clears the flag, another thread adds a message. And the
// reverse.
TEST(Gate, IsObservedAfterThreadsThatInterleave) {
    for (const bool last : {true, false}) {
        bool pending = !last;
        bool first = true;
        gate::observe([&] {
            const bool found = pending;
            if (std::exchange(first, false)) {
                pending = last;
                gate::observe([&] { return pending; });
            }
            return found;
        });
        EXPECT_EQ(is_observed(), last);
    }
}

// By another thread, as Lapwing's.
bool closes() {
    bool closed = false;
    std::thread([&] {
        closed = gate::try_close();
        if (closed) gate::open();
    }).join();
    return closed;
}

TEST(Gate, StaysAsItIsWhileAThreadIsInside) {
    ASSERT_TRUE(gate::can_close());
    watch::ThreadRecord& own = watch::Journal::of_thread();
    own.depth = 1;
    // An attempt to close the gate would end with open(), which clears this.
    gate::attention |= gate::wanted;
    EXPECT_FALSE(closes());
    EXPECT_TRUE(gate::is_wanted());
    own.depth = 0;
    EXPECT_TRUE(closes());
    EXPECT_EQ(gate::attention, 0U);
}

bool sleeps(long thread) {
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
    const std::string text(std::istreambuf_iterator<char>(status), {});
    return text.find("State:\tS") != std::string::npos;
}

// Lapwing's thread may have a lower priority, and then cannot open the gate while this one has the processor.
TEST(Gate, AThreadThatWaitsForLongSleeps) {
    ASSERT_TRUE(gate::try_close());
    std::atomic<long> number{0};
    std::thread waits([&] {
        number = ::syscall(SYS_gettid);
        number.notify_all();
        gate::wait_until_open<gate::Process>();
    });
    number.wait(0);
    int looks = 0;
    while (!sleeps(number) && looks < 10'000) {
        ++looks;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LT(looks, 10'000);
    EXPECT_TRUE(gate::is_wanted());
    gate::open();
    waits.join();
    EXPECT_EQ(gate::attention, 0U);
}

}  // namespace
}  // namespace lapwing
