#include "task/result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "task/parts.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"
#include "three_ranks.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "out[0+4] of 1 from 8", or "of 0-2" when reduced.
std::vector<std::string> told(const Problem& problem, int rank) {
    validate(problem);
    std::vector<std::string> rows;
    for (const Result& result : results(problem, rank)) {
        std::string ranks = std::to_string(result.first);
        if (result.last != result.first) ranks += "-" + std::to_string(result.last);
        rows.push_back(print(result.out) + " of " + ranks + " from " + std::to_string(result.offset));
    }
    return rows;
}

TEST(Results, OfBlocksOfOneLength) {
    using enum Collective;
    EXPECT_THAT(told(three_blocks(barrier), 0), IsEmpty());
    EXPECT_THAT(told(three_blocks(broadcast, 1), 1), IsEmpty());
    EXPECT_THAT(told(three_blocks(broadcast, 1), 2), ElementsAre("out[0+4] of 1 from 0"));
    for (const bool in_place : {false, true}) {
        EXPECT_THAT(told(three_blocks(gather, 1, in_place), 1),
                    ElementsAre("out[0+4] of 0 from 0", "out[4+4] of 1 from 0", "out[8+4] of 2 from 0"));
        EXPECT_THAT(told(three_blocks(gather, 1, in_place), 0), IsEmpty());
        EXPECT_THAT(told(three_blocks(scatter, 1, in_place), 2), ElementsAre("out[0+4] of 1 from 8"));
        EXPECT_THAT(told(three_blocks(allgather, 0, in_place), 2),
                    ElementsAre("out[0+4] of 0 from 0", "out[4+4] of 1 from 0", "out[8+4] of 2 from 0"));
    }
    EXPECT_THAT(told(three_blocks(scatter, 1), 1), ElementsAre("out[0+4] of 1 from 4"));
    EXPECT_THAT(told(three_blocks(scatter, 1, true), 1), IsEmpty());
    EXPECT_THAT(told(three_blocks(alltoall), 1),
                ElementsAre("out[0+4] of 0 from 4", "out[4+4] of 1 from 4", "out[8+4] of 2 from 4"));
}

TEST(Results, OfReductions) {
    using enum Collective;
    for (const bool in_place : {false, true}) {
        EXPECT_THAT(told(three_blocks(reduce, 1, in_place), 1), ElementsAre("out[0+4] of 0-2 from 0"));
        EXPECT_THAT(told(three_blocks(reduce, 1, in_place), 0), IsEmpty());
        EXPECT_THAT(told(three_blocks(allreduce, 0, in_place), 1), ElementsAre("out[0+4] of 0-2 from 0"));
        EXPECT_THAT(told(three_blocks(reduce_scatter_block, 0, in_place), 2),
                    ElementsAre("out[0+4] of 0-2 from 8"));
        EXPECT_THAT(told(three_blocks(scan, 0, in_place), 0), ElementsAre("out[0+4] of 0 from 0"));
        EXPECT_THAT(told(three_blocks(scan, 0, in_place), 2), ElementsAre("out[0+4] of 0-2 from 0"));
        EXPECT_THAT(told(three_blocks(exscan, 0, in_place), 0), IsEmpty());
        EXPECT_THAT(told(three_blocks(exscan, 0, in_place), 1), ElementsAre("out[0+4] of 0 from 0"));
        EXPECT_THAT(told(three_blocks(exscan, 0, in_place), 2), ElementsAre("out[0+4] of 0-1 from 0"));
        EXPECT_THAT(told(three_by_parts(reduce_scatter, 0, in_place), 2),
                    ElementsAre("out[0+8] of 0-2 from 4"));
        EXPECT_THAT(told(three_by_parts(reduce_scatter, 0, in_place), 0), IsEmpty());
    }
}

TEST(Results, OfParts) {
    using enum Collective;
    for (const bool in_place : {false, true}) {
        EXPECT_THAT(told(three_by_parts(gatherv, 1, in_place), 1),
                    ElementsAre("out[0+4] of 1 from 0", "out[4+8] of 2 from 0"));
        EXPECT_THAT(told(three_by_parts(gatherv, 1, in_place), 2), IsEmpty());
        EXPECT_THAT(told(three_by_parts(scatterv, 1, in_place), 2), ElementsAre("out[0+8] of 1 from 4"));
        EXPECT_THAT(told(three_by_parts(allgatherv, 0, in_place), 0),
                    ElementsAre("out[0+4] of 1 from 0", "out[4+8] of 2 from 0"));
    }
    EXPECT_THAT(told(three_by_parts(scatterv, 1), 1), ElementsAre("out[0+4] of 1 from 0"));
    EXPECT_THAT(told(three_by_parts(scatterv, 1, true), 1), IsEmpty());
    EXPECT_THAT(told(three_by_parts(alltoallv), 2),
                ElementsAre("out[0+4] of 1 from 8", "out[4+8] of 2 from 16"));
    EXPECT_THAT(told(three_by_parts(neighbor_allgather), 2),
                ElementsAre("out[0+4] of 1 from 0", "out[4+8] of 2 from 0"));
}

TEST(Results, BlocksAreWhereTheirRanksHaveThem) {
    Problem problem = three_by_parts(Collective::gatherv, 1);
    problem.parts[2].sends[0].offset = 5;
    problem.parts[1].receives = {{0, 3, 0}, {1, 20, 4}, {2, 1, 8}};
    EXPECT_THAT(told(problem, 1), ElementsAre("out[20+4] of 1 from 0", "out[1+8] of 2 from 5"));
    problem.in_place = true;
    problem.parts[1].sends.clear();
    EXPECT_THAT(told(problem, 1), ElementsAre("out[20+4] of 1 from 0", "out[1+8] of 2 from 5"));
    EXPECT_EQ(input(problem, 1, 1, 2), (Span{Space::out, 21, 2}));
}

TEST(Results, OfTheSameNeighbourTwiceFollowTheOrderOfBothSides) {
    Problem problem{.collective = Collective::neighbor_alltoall, .ranks = 2};
    problem.parts = parts_of_graph(problem, std::vector<Neighbors>{{{1, 0, 1}, {0}}, {{}, {0, 0}}},
                                   [](int, int) { return 4; });
    EXPECT_THAT(told(problem, 0),
                ElementsAre("out[0+4] of 1 from 0", "out[4+4] of 0 from 0", "out[8+4] of 1 from 4"));
}

// Whatever the problem: results are whole elements inside out, apart from each other, of bytes that the ranks
// have.
TEST(Results, FitTheMemories) {
    for (const Collective collective : all_collectives()) {
        for (const int ranks : {1, 2, 3, 7}) {
            for (const Problem& problem : sample_problems(collective, ranks, 24)) {
                validate(problem);
                for (int rank = 0; rank < ranks; ++rank) {
                    std::vector<Result> all = results(problem, rank);
                    std::sort(all.begin(), all.end(),
                              [](const Result& a, const Result& b) { return a.out.offset < b.out.offset; });
                    std::uint64_t end = 0;
                    for (const Result& result : all) {
                        EXPECT_GT(result.out.length, 0U);
                        EXPECT_GE(result.out.offset, end);
                        end = result.out.end();
                        for (int from = result.first; from <= result.last; ++from) {
                            EXPECT_LE(result.offset + result.out.length, whole_input(problem, from).length);
                        }
                        EXPECT_TRUE(result.first == result.last || is_reduction(collective));
                    }
                    EXPECT_LE(end, out_bytes(problem, rank));
                    const Span own = whole_input(problem, rank);
                    EXPECT_LE(own.end(),
                              own.space == Space::in ? in_bytes(problem, rank) : out_bytes(problem, rank));
                }
            }
        }
    }
}

}  // namespace
}  // namespace lapwing
