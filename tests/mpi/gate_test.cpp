#include "mpi/native/gate.hpp"

#include <gtest/gtest.h>

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
        closed = gate::try_close(true);
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

}  // namespace
}  // namespace lapwing
