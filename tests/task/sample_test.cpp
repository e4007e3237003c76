#include "task/sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "task/validation.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> lengths(const std::vector<Part>& parts) {
    std::vector<std::uint64_t> all;
    for (const Part& part : parts) all.push_back(part.bytes);
    return all;
}

TEST(Sample, BlocksHaveTheSizesThatAreAskedFor) {
    const Problem alltoallv{.collective = Collective::alltoallv, .ranks = 5};
    EXPECT_THAT(lengths(with_blocks(alltoallv, 10).parts[1].sends), ElementsAre(10, 10, 10, 10, 10));
    const Problem uneven = with_blocks(alltoallv, 10, {.kind = Sizes::Kind::uneven});
    EXPECT_THAT(lengths(uneven.parts[0].sends), ElementsAre(10, 20, 15, 0, 5));
    EXPECT_THAT(lengths(uneven.parts[1].sends), ElementsAre(0, 5, 10, 20, 15));
    const Sizes random{.kind = Sizes::Kind::random, .seed = 4};
    EXPECT_EQ(with_blocks(alltoallv, 10, random), with_blocks(alltoallv, 10, random));
    EXPECT_NE(with_blocks(alltoallv, 10, random),
              with_blocks(alltoallv, 10, {.kind = Sizes::Kind::random, .seed = 5}));
    for (const Parts& parts : with_blocks(alltoallv, 10, random).parts) {
        for (const Part& part : parts.sends) EXPECT_LE(part.bytes, 20U);
    }
}

TEST(Sample, BlocksOfReductionsAreWholeElements) {
    Problem problem{.collective = Collective::scan, .ranks = 3, .type = Type::uint32};
    EXPECT_EQ(with_blocks(problem, 11).bytes, 8U);
    problem.collective = Collective::reduce_scatter;
    const Problem uneven = with_blocks(problem, 12, {.kind = Sizes::Kind::uneven});
    EXPECT_THAT(lengths(uneven.parts[0].sends), ElementsAre(12, 24, 16));
    EXPECT_EQ(uneven.bytes, 16U);
}

TEST(Sample, NeighboursStandInALine) {
    const Problem problem = with_blocks({.collective = Collective::neighbor_allgather, .ranks = 4}, 8);
    EXPECT_EQ(problem.parts[0], (Parts{{{3, 0, 8}, {1, 0, 8}}, {{3, 0, 8}, {1, 8, 8}}}));
}

TEST(Sample, HostsOfEveryKind) {
    // Many ranks take the placements in turn, and the next number of ranks begins with the next placement.
    for (const std::vector<int>& numbers :
         {std::vector{3}, std::vector{4}, std::vector{9, 10, 11, 12}, std::vector{30, 31, 32, 33}}) {
        bool in_order = false;
        bool uneven = false;
        bool dealt = false;
        bool own_order = false;
        bool nested = false;
        bool one_host = false;
        std::vector<Problem> problems;
        for (const int ranks : numbers) {
            for (const Problem& problem : sample_problems_on_hosts(Collective::broadcast, ranks, 8))
                problems.push_back(problem);
        }
        for (const Problem& problem : problems) {
            const Placement* const placement = problem.placement.get();
            EXPECT_TRUE(placement->hosts() > 1 || placement->levels() > 1);
            EXPECT_LT(placement->hosts(), problem.ranks);
            nested = nested || placement->levels() > 2;
            one_host = one_host || placement->hosts() == 1;
            in_order = in_order || placement->in_rank_order();
            uneven = uneven || placement->largest_host() > placement->smallest_host() + 1;
            dealt = dealt || (placement->in_default_order() && !placement->has_runs());
            own_order = own_order || !placement->in_default_order();
        }
        EXPECT_TRUE(in_order && dealt && own_order && one_host);
        EXPECT_TRUE((uneven && nested) || numbers.front() < 6);
    }
    // On each of them, or in turn.
    EXPECT_EQ(sample_problems_on_hosts(Collective::broadcast, 4, 8).size(),
              6 * sample_problems(Collective::broadcast, 4, 8).size());
    EXPECT_EQ(sample_problems_on_hosts(Collective::broadcast, 20, 8).size(),
              2 * sample_problems(Collective::broadcast, 20, 8).size());
}

// Every form that its collective can have is there.
TEST(Sample, ProblemsOfEveryForm) {
    for (const Collective collective : all_collectives()) {
        for (const int ranks : {1, 2, 3, 9}) {
            std::set<int> roots;
            std::set<bool> in_place;
            std::set<bool> ordered;
            bool zero = false;
            bool gap = false;
            bool loop = false;
            bool twice = false;
            for (const Problem& problem : sample_problems(collective, ranks, 24)) {
                EXPECT_NO_THROW(validate(problem));
                roots.insert(problem.root);
                in_place.insert(problem.in_place);
                ordered.insert(problem.ordered);
                for (int rank = 0; rank < static_cast<int>(problem.parts.size()); ++rank) {
                    const Parts& parts = problem.parts_of(rank);
                    std::set<int> peers;
                    std::uint64_t bytes = 0;
                    for (const Part& part : parts.receives) {
                        zero = zero || part.bytes == 0;
                        loop = loop || part.peer == rank;
                        twice = twice || !peers.insert(part.peer).second;
                        bytes += part.bytes;
                    }
                    gap = gap || end_of(parts.receives) > bytes;
                    for (const Part& part : parts.sends) zero = zero || part.bytes == 0;
                }
            }
            const bool graph =
                collective == Collective::neighbor_allgather || collective == Collective::neighbor_alltoall;
            EXPECT_EQ(roots.size(),
                      has_root(collective) ? std::min<std::size_t>(static_cast<std::size_t>(ranks), 4U) : 1U)
                << name(collective);
            EXPECT_EQ(in_place.size(), may_be_in_place(collective) ? 2U : 1U) << name(collective);
            EXPECT_EQ(ordered.size(), is_reduction(collective) ? 2U : 1U) << name(collective);
            if (ranks < 9 || !has_parts(collective)) continue;
            EXPECT_TRUE(zero) << name(collective);
            const bool one_block =
                collective == Collective::scatterv || collective == Collective::reduce_scatter;
            EXPECT_TRUE(gap || one_block) << name(collective);
            EXPECT_TRUE(!graph || (loop && twice)) << name(collective);
        }
    }
}

}  // namespace
}  // namespace lapwing
