#include "mpi/native/gate.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lapwing
