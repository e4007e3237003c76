#include "mpi/native/time_in_calls.hpp"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

auto at(std::uint64_t now) {
    return [now] { return now; };
}

TEST(TimeInCalls, CountsAllCallsFromTheFirstLongStayOn) {
    TimeInCalls calls;
    calls.begin();
    calls.enter(10, false);
    calls.leave(at(20));
    EXPECT_FALSE(calls.counts());
    EXPECT_EQ(calls.time(), 0U);
    // A wait for nothing, directly before the wait for the messages.
    calls.enter(1000, true);
    calls.leave(at(1001));
    calls.enter(1002, false);
    calls.leave(at(1500));
    EXPECT_TRUE(calls.counts());
    EXPECT_EQ(calls.time(), 499U);
    calls.begin();
    EXPECT_FALSE(calls.counts());
    EXPECT_EQ(calls.time(), 0U);
}

TEST(TimeInCalls, EndsInTheMiddleOfACall) {
    TimeInCalls calls;
    calls.begin();
    calls.enter(100, true);
    calls.leave(at(150));
    calls.leave(at(170));
    EXPECT_EQ(calls.time(), 50U);
}

}  // namespace
}  // namespace lapwing
