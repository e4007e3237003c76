// What ranks must decide alike although they do not see the same: a rank may be in place where others are
// not.
#include <gtest/gtest.h>

#include <string>

#include "plan/selection.hpp"
#include "support/in_place_forms.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace in_place_forms;

TEST(Agreement, AnAlgorithmAppliesToBothFormsOfAProblem) {
    for_each_problem([](const Problem& problem, const Choice& choice) {
        const Problem other = in_place(problem, true);
        EXPECT_TRUE(choice.algorithm->applies(other, choice.parameters)) << print(problem);
        EXPECT_EQ(print(select(problem, {}).choice), print(select(other, {}).choice)) << print(problem);
    });
}

}  // namespace
}  // namespace lapwing
