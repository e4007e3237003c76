// What ranks must decide alike although they do not see the same: a rank may be in place where others are
// not.
#include <gtest/gtest.h>

#include <string>

#include "collectives/catalogue.hpp"
#include "plan/selection.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

Problem in_place(Problem problem, bool is) {
    problem.in_place = is;
    return problem;
}

// Problems that a rank may know in another form than its peers, with an algorithm each.
template <typename Body>
void for_each_problem(const Body& body) {
    for (const Algorithm* const algorithm : catalogue()) {
        const Collective collective = algorithm->collective;
        if (!in_place_by_itself(collective) || has_parts(collective) || algorithm->knows_hosts) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int ranks : {2, 3, 4, 6, 8}) {
            for (const Problem& problem : sample_problems(collective, ranks, 40)) {
                if (!problem.in_place && algorithm->applies(problem, choice.parameters))
                    body(problem, choice);
            }
        }
    }
}

TEST(Agreement, AnAlgorithmAppliesToBothFormsOfAProblem) {
    for_each_problem([](const Problem& problem, const Choice& choice) {
        const Problem other = in_place(problem, true);
        EXPECT_TRUE(choice.algorithm->applies(other, choice.parameters)) << print(problem);
        EXPECT_EQ(print(select(problem, {}).choice), print(select(other, {}).choice)) << print(problem);
    });
}

}  // namespace
}  // namespace lapwing
