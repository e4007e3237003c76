#include "base/floating_point.hpp"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

// One division each by the unit for long double, which is the x87 unit on x86-64, and by that for double.
void divide_by_zero() {
    volatile long double long_zero = 0;
    volatile double zero = 0;
    volatile long double long_result = 1 / long_zero;
    volatile double result = 1 / zero;
    static_cast<void>(long_result);
    static_cast<void>(result);
}

double third() {
    volatile double three = 3;
    return 1 / three;
}

TEST(DefaultFloatingPoint, LeavesNoFlagAndKeepsThoseThatWereRaised) {
    for (const int raised : {0, FE_INVALID}) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(raised);
        {
            const DefaultFloatingPoint scope;
            EXPECT_EQ(fetestexcept(FE_ALL_EXCEPT), 0);
            divide_by_zero();
            EXPECT_NE(fetestexcept(FE_DIVBYZERO), 0);
        }
        EXPECT_EQ(fetestexcept(FE_ALL_EXCEPT), raised);
    }
    feclearexcept(FE_ALL_EXCEPT);
}

TEST(DefaultFloatingPoint, RoundsToNearestAndDoesNotTrap) {
    const double nearest = third();
    fesetround(FE_UPWARD);
    const bool has_traps = feenableexcept(FE_DIVBYZERO) != -1;  // not every ARM processor has
    {
        const DefaultFloatingPoint scope;
        EXPECT_EQ(fegetround(), FE_TONEAREST);
        EXPECT_EQ(third(), nearest);
        divide_by_zero();
    }
    EXPECT_EQ(fegetround(), FE_UPWARD);
    EXPECT_GT(third(), nearest);
    EXPECT_EQ(fedisableexcept(FE_ALL_EXCEPT), has_traps ? FE_DIVBYZERO : 0);
    fesetround(FE_TONEAREST);
}

}  // namespace
}  // namespace lapwing
