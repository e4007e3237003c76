// Whether a program starts many lists before it waits for one of them.
#include "engines/kernel/bursts.hpp"
#include "support/unit.hpp"

namespace lapwing::kernel {
namespace {

// Starts `lists` lists without a call between them, and returns the numbers of those amid many, from 1.
std::vector<int> amid_many(Bursts& bursts, int lists) {
    std::vector<int> numbers;
    for (int number = 1; number <= lists; ++number) {
        bursts.started();
        if (bursts.amid_many()) numbers.push_back(number);
    }
    bursts.ended();
    return numbers;
}

TEST(Bursts, AFirstOneShowsWithItsEighthList) {
    Bursts bursts;
    EXPECT_EQ(amid_many(bursts, 10), (std::vector{8, 9, 10}));
}

TEST(Bursts, AfterALongOneAllListsButTheFirstAreAmidMany) {
    Bursts bursts;
    amid_many(bursts, 8);
    EXPECT_EQ(amid_many(bursts, 4), (std::vector{2, 3, 4}));
    EXPECT_TRUE(amid_many(bursts, 4).empty());
}

TEST(Bursts, CallsWithoutStartsChangeNothing) {
    Bursts bursts;
    amid_many(bursts, 8);
    for (int call = 0; call < 3; ++call) bursts.ended();
    EXPECT_EQ(amid_many(bursts, 2), (std::vector{2}));
    EXPECT_EQ(bursts.size(), 0U);
}

TEST(Bursts, SingleListsAreNeverAmidMany) {
    Bursts bursts;
    for (int call = 0; call < 20; ++call) EXPECT_TRUE(amid_many(bursts, 1).empty());
}

}  // namespace
}  // namespace lapwing::kernel
