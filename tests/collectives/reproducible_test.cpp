// The fixed bracketing: which algorithms keep it, and that the checker rejects every other one.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "collectives/catalogue.hpp"
#include "collectives/reproducible.hpp"
#include "problems.hpp"
#include "task/bracketing.hpp"
#include "task/builder.hpp"
#include "task/checker.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

constexpr CheckLimits with_bracketing = {.queue_depth = UINT64_MAX, .violations = 1, .bracketing = true};

// All ordered problems of reductions, with the algorithms that take them.
template <typename Visit>
void for_each_ordered(int ranks, Visit visit) {
    for (const Algorithm* algorithm : catalogue()) {
        if (!is_reduction(algorithm->collective)) continue;
        const auto sample = algorithm->knows_hosts ? sample_problems_on_hosts : sample_problems;
        for (const std::uint64_t bytes : {8U, 200U}) {
            for (const Problem& problem : sample(algorithm->collective, ranks, bytes)) {
                const Choice choice{algorithm, default_parameters(*algorithm)};
                if (problem.ordered && choice.applies(problem)) visit(problem, choice);
            }
        }
    }
}

std::string first_violation(const Problem& problem, const std::vector<List>& lists) {
    const auto violations = check(problem, lists, with_bracketing);
    return violations.empty() ? "" : violations.front().what(lists);
}

// In both directions: what the table promises is proven, and what it leaves out is rejected for some problem.
TEST(FixedBracketing, IsThatOfTheAlgorithmsInTheTable) {
    std::map<const Algorithm*, int> rejected;
    std::set<const Algorithm*> seen;
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 21}) {
        for_each_ordered(ranks, [&](const Problem& problem, const Choice& choice) {
            seen.insert(choice.algorithm);
            const std::string wrong = first_violation(problem, build_all(problem, choice).lists);
            if (keeps_bracketing(problem, choice)) {
                EXPECT_EQ(wrong, "") << print(problem) << ' ' << print(choice);
            } else if (!wrong.empty()) {
                EXPECT_TRUE(wrong.starts_with("bracketing: ")) << wrong;
                ++rejected[choice.algorithm];
            }
        });
    }
    int kept = 0;
    for (const Algorithm* algorithm : seen) {
        const bool keeps = static_cast<bool>(keeps_bracketing({}, {algorithm, {}}));
        EXPECT_EQ(rejected[algorithm] == 0, keeps) << name(algorithm->collective) << ' ' << algorithm->name;
        kept += keeps ? 1 : 0;
    }
    EXPECT_EQ(kept, 10);
}

// Every way to put parentheses around neighbouring operands: as the right ends of left operands, node by
// node.
std::vector<std::vector<std::array<int, 3>>> all_bracketings(int first, int end) {
    if (end - first == 1) return {{}};
    std::vector<std::vector<std::array<int, 3>>> all;
    for (int middle = first + 1; middle < end; ++middle) {
        for (const auto& left : all_bracketings(first, middle)) {
            for (const auto& right : all_bracketings(middle, end)) {
                auto& joins = all.emplace_back(left);
                joins.insert(joins.end(), right.begin(), right.end());
                joins.push_back({first, middle, end});
            }
        }
    }
    return all;
}

// Reduce at the last rank by one message from each rank, combined as `joins` say.
std::vector<List> flat_reduce(const Problem& problem, const std::vector<std::array<int, 3>>& joins) {
    std::vector<List> lists;
    const int root = problem.root;
    for (int rank = 0; rank < root; ++rank) {
        Builder list(problem, rank, 1);
        list.send(root, in(0, problem.bytes));
        lists.push_back(list.finish());
    }
    Builder list(problem, root, 20);
    std::vector<Span> parts;
    for (int rank = 0; rank < root; ++rank) list.recv(rank, parts.emplace_back(list.scratch(problem.bytes)));
    for (int rank = 0; rank < root; ++rank) list.wait(rank);
    list.copy(parts.emplace_back(out(0, problem.bytes)), in(0, problem.bytes));
    for (const auto& [first, middle, end] : joins)
        list.reduce(parts[static_cast<std::size_t>(end - 1)], parts[static_cast<std::size_t>(middle - 1)]);
    lists.push_back(list.finish());
    return lists;
}

TEST(FixedBracketing, IsTheOnlyOneThatIsProven) {
    const std::map<int, std::size_t> counts = {{2, 1},  {3, 2},  {4, 5},
                                               {5, 14}, {6, 42}, {7, 132}};  // Catalan numbers
    for (const auto& [ranks, count] : counts) {
        Problem problem{.collective = Collective::reduce, .ranks = ranks, .root = ranks - 1, .bytes = 16};
        problem.type = Type::float64;
        problem.ordered = true;
        int proven = 0;
        const auto all = all_bracketings(0, ranks);
        ASSERT_EQ(all.size(), count);
        for (const auto& joins : all) {
            const auto lists = flat_reduce(problem, joins);
            EXPECT_TRUE(check(problem, lists).empty());
            proven += first_violation(problem, lists).empty() ? 1 : 0;
        }
        EXPECT_EQ(proven, 1) << ranks;
    }
}

TEST(FixedBracketing, ACounterExampleHasBothBracketings) {
    Problem problem{.collective = Collective::reduce, .ranks = 4, .root = 3, .bytes = 8};
    problem.type = Type::float64;
    problem.ordered = true;
    EXPECT_EQ(first_violation(problem, flat_reduce(problem, {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}})),
              "bracketing: rank 3, task 9 (reduce sum float64 out[0+8] scratch[32+8]): out[0+8] is "
              "((0+1)+2)+3, must be "
              "(0+1)+(2+3)");
}

std::string fixed(Collective collective, int ranks) {
    const auto operand = [](const std::string& text) { return text.size() == 1 ? text : "(" + text + ")"; };
    return bracketing::of(
        {.collective = collective}, ranks - 1, [](int rank) { return std::to_string(rank); },
        [&](const std::string& left, const std::string& right) {
            return operand(left) + "+" + operand(right);
        });
}

TEST(FixedBracketing, IsThatOfTheManual) {
    EXPECT_EQ(fixed(Collective::allreduce, 1), "0");
    EXPECT_EQ(fixed(Collective::allreduce, 6), "((0+1)+(2+3))+(4+5)");
    EXPECT_EQ(fixed(Collective::reduce, 7), "((0+1)+(2+3))+((4+5)+6)");
    EXPECT_EQ(fixed(Collective::reduce_scatter, 8), "((0+1)+(2+3))+((4+5)+(6+7))");
    EXPECT_EQ(fixed(Collective::scan, 6), "(0+1)+((2+3)+(4+5))");
    EXPECT_EQ(fixed(Collective::scan, 7), "(0+(1+2))+((3+4)+(5+6))");
    EXPECT_EQ(fixed(Collective::exscan, 6), "(0+(1+2))+((3+4)+5)");
}

TEST(FixedBracketing, MattersOnlyIfOperationsAreNotAssociative) {
    Problem problem{.collective = Collective::allreduce, .ranks = 3, .bytes = 8};
    problem.type = Type::int64;
    EXPECT_FALSE(bracketing::in_rank_order(problem).ordered);
    problem.type = Type::float64;
    EXPECT_TRUE(bracketing::in_rank_order(problem).ordered);
    EXPECT_FALSE(bracketing::in_rank_order({.collective = Collective::alltoall}).ordered);
}

// Binned sums: every algorithm may run, and is proven with elements of this length.
TEST(FixedBracketing, DoesNotMatterForBinnedSums) {
    int proven = 0;
    for (const Algorithm* algorithm : catalogue()) {
        Problem problem{.collective = algorithm->collective, .ranks = 6, .bytes = 96};
        problem.type = Type::binned;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        if (!is_reduction(problem.collective) || has_parts(problem.collective) || !choice.applies(problem))
            continue;
        EXPECT_FALSE(bracketing::in_rank_order(problem).ordered);
        EXPECT_TRUE(check(problem, build_all(problem, choice).lists).empty()) << algorithm->name;
        ++proven;
    }
    EXPECT_GT(proven, 10);
}

}  // namespace
}  // namespace lapwing
