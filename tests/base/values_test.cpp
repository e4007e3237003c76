#include "base/values.hpp"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

TEST(Values, ProcessorsArePrintedAsTheyAreRead) {
    for (const char* text : {"0", "0-1", "0,2-3,8", "4-6,9-10"}) {
        const auto processors = parse_processors(text);
        ASSERT_TRUE(processors) << text;
        EXPECT_EQ(print_ranges(*processors), text);
    }
    EXPECT_EQ(print_ranges({}), "");
}

}  // namespace
}  // namespace lapwing
