// What each reduction is, beyond being right: what it declines, who sends how much in how many steps, what it
// costs.

#include "collectives/catalogue.hpp"
#include "lists.hpp"
#include "problems.hpp"
#include "support/unit.hpp"
#include "task/chains.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

TEST(Reductions, SomeAlgorithmTakesEveryOrderedProblem) {
    for (const Algorithm* algorithm : catalogue()) {
        if (!is_reduction(algorithm->collective) || algorithm->knows_hosts) continue;
        const Problem problem = with_parts(problem_of(algorithm->collective, 7, 0, 9, false, true)).front();
        const std::string name = algorithm->name;
        const bool keeps_order = name != "ring" && name != "recursive_halving";
        EXPECT_EQ(static_cast<bool>(algorithm->applies(problem, default_parameters(*algorithm))), keeps_order)
            << algorithm->name;
    }
}

TEST(Reductions, DeclineWhatNeedsTooMuchScratch) {
    for (const Algorithm* algorithm : catalogue()) {
        if (!is_reduction(algorithm->collective)) continue;
        Problem problem = problem_of(algorithm->collective, 64, 0, std::uint64_t{1} << 30);
        if (has_parts(problem.collective))
            problem.parts = all_parts(problem, [](int, int) { return std::uint64_t{1} << 32; });
        EXPECT_FALSE(algorithm->applies(problem, default_parameters(*algorithm))) << algorithm->name;
    }
}

TEST(Reductions, WhatTheyTakeNeedsNoMoreThanThat) {
    const auto problem_with = [](const Algorithm& algorithm, int ranks, std::uint64_t elements, int how) {
        Problem problem =
            problem_of(algorithm.collective, ranks, ranks / 2, elements, how % 2 != 0, how / 2 != 0);
        if (!has_root(problem.collective)) problem.root = 0;
        if (has_parts(problem.collective)) {
            const std::uint64_t bytes = problem.bytes;
            problem.parts = all_parts(problem, [&](int, int to) { return to % 2 == 0 ? bytes : 0; });
        }
        return problem;
    };
    for (const Algorithm* algorithm : catalogue()) {
        if (!is_reduction(algorithm->collective)) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int ranks : {2, 3, 7, 8, 13, 64}) {
            for (const int how : {0, 1, 2, 3}) {
                std::uint64_t elements = std::uint64_t{1} << 30;
                while (elements > 0 &&
                       !algorithm->applies(problem_with(*algorithm, ranks, elements, how), choice.parameters))
                    elements -= elements / 16 + 1;
                const Problem problem = problem_with(*algorithm, ranks, elements, how);
                for (int rank = 0; rank < ranks && elements > 0; ++rank) {
                    // What lies between spans, so that each is aligned, is not counted.
                    EXPECT_LT(build(problem, rank, choice).scratch_bytes, (1U << 30U) + 16U * 200U)
                        << print(problem) << " " << algorithm->name << " " << rank;
                }
            }
        }
    }
}

// In a program, empty blocks have no place.
TEST(ReduceScatter, TakesNoNoticeOfThePlaceOfEmptyBlocks) {
    for (const Problem& problem : with_parts(problem_of(Collective::reduce_scatter, 7, 0, 0, true))) {
        Problem other = problem;
        for (Parts& parts : other.parts)
            for (Part& part : parts.sends) part.offset = part.bytes == 0 ? 0 : part.offset;
        for (const Algorithm* algorithm : algorithms_of(problem.collective)) {
            const Choice choice{algorithm, default_parameters(*algorithm)};
            for (int rank = 0; rank < problem.ranks; ++rank)
                EXPECT_EQ(build(other, rank, choice), build(problem, rank, choice)) << print(choice);
        }
    }
}

TEST(BinomialReduce, WaitsForAllChildrenBeforeItCombines) {
    EXPECT_EQ(print(list_of(Collective::reduce, "binomial", 8, 4, 1)),
              "list 4 in 4 out 0 scratch 20\n"
              "  recv 5 scratch[0+4]\n"
              "  recv 6 scratch[16+4]\n"
              "  wait 5 1\n"
              "  wait 6 1\n"
              "  reduce sum uint32 scratch[16+4] scratch[0+4]\n"
              "  reduce sum uint32 scratch[16+4] in[0+4]\n"
              "  send 0 scratch[16+4]\n"
              "end\n");
}

TEST(RecursiveDoublingAllreduce, CombinesInOut) {
    EXPECT_EQ(print(list_of(Collective::allreduce, "recursive_doubling", 4, 1, 2)),
              "list 1 in 8 out 8 scratch 8\n"
              "  recv 0 scratch[0+8]\n"
              "  recv 3 out[0+8]\n"
              "  send 0 in[0+8]\n"
              "  wait 0 1\n"
              "  reduce sum uint32 scratch[0+8] in[0+8]\n"
              "  send 3 scratch[0+8]\n"
              "  wait 3 1\n"
              "  reduce sum uint32 out[0+8] scratch[0+8]\n"
              "end\n");
}

TEST(LongAllreduces, SendTheVectorLessThanTwice) {
    for (int rank = 0; rank < 16; ++rank)
        for (const char* algorithm : {"rabenseifner", "ring"})
            EXPECT_EQ(bytes_sent(list_of(Collective::allreduce, algorithm, 16, rank, 4000)), 30000U);
    for (int rank = 0; rank < 10; ++rank)
        EXPECT_EQ(bytes_sent(list_of(Collective::allreduce, "ring", 10, rank, 4000)), 28800U);
}

TEST(PairwiseReduceScatter, NeedsTheProcessorOnlyAtTheEnd) {
    for (const bool ordered : {false, true}) {
        const Problem problem = problem_of(Collective::reduce_scatter_block, 9, 0, 1000, false, ordered);
        const Choice choice = parse_choice(problem.collective, "pairwise");
        for (int rank = 0; rank < problem.ranks; ++rank)
            EXPECT_EQ(lower_to_chains(build(problem, rank, choice)).stages.size(), 1U);
    }
}

}  // namespace
}  // namespace lapwing
