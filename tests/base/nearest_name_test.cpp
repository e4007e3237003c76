#include "base/nearest_name.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

const std::vector<std::string> names = {"flat", "pairwise", "ring", "bruck"};

TEST(NearestName, FindsTypingErrors) {
    EXPECT_EQ(nearest_name("pairwize", names), "pairwise");
    EXPECT_EQ(nearest_name("brukc", names), "bruck");
    EXPECT_EQ(nearest_name("RING", names), "ring");
    EXPECT_EQ(nearest_name("airwise", names), "pairwise");
}

TEST(NearestName, GivesNothingWhenNothingIsNear) {
    EXPECT_EQ(nearest_name("hypercube", names), "");
    EXPECT_EQ(nearest_name("flat", {}), "");
}

TEST(Suggestion, NamesTheNearestOrAll) {
    EXPECT_EQ(suggestion("pairwize", names), "; did you mean 'pairwise'?");
    EXPECT_EQ(suggestion("hypercube", names), "; valid: flat, pairwise, ring, bruck");
}

}  // namespace
}  // namespace lapwing
