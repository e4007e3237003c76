#include "samples/random_problem.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "collectives/catalogue.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

// A binomial broadcast that keeps ranks in ten bits.
List build_in_ten_bits(const Problem& problem, int rank, const Parameters& parameters) {
    List list = algorithms_of(Collective::broadcast).front()->build(problem, rank, parameters);
    for (Task& task : list.tasks)
        if (task.peer >= 0) task.peer &= 1023;
    return list;
}

TEST(RandomProblems, ReachManyRanks) {
    Algorithm wrong = *algorithms_of(Collective::broadcast).front();
    ASSERT_STREQ(wrong.name, "binomial");
    wrong.build = build_in_ten_bits;
    const Choice choice{&wrong, default_parameters(wrong)};
    std::set<int> found;
    std::set<int> roots;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Problem problem = random_problem(Collective::broadcast, 1, 4096, false, seed);
        EXPECT_EQ(problem, random_problem(Collective::broadcast, 1, 4096, false, seed));
        roots.insert(problem.root);
        std::vector<List> lists;
        for (int rank = 0; rank < problem.ranks; ++rank) lists.push_back(build(problem, rank, choice));
        if (problem.ranks <= 1024)
            EXPECT_TRUE(check(problem, lists).empty()) << print(problem);
        else if (!check(problem, lists).empty())
            found.insert(problem.ranks);
    }
    EXPECT_GE(found.size(), 3U);
    EXPECT_GE(roots.size(), 20U);
}

}  // namespace
}  // namespace lapwing
