// The order of the algorithms by the cost model, for short blocks and long ones.

#include "collectives/catalogue.hpp"
#include "collectives/problems.hpp"
#include "plan/selection.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using testing::ElementsAre;

// Those that apply, the cheapest first.
std::vector<std::string> order(const Problem& problem) {
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates(problem))
        if (candidate.applies) names.emplace_back(candidate.choice.algorithm->name);
    return names;
}
std::string first(Collective collective, int ranks, std::uint64_t bytes) {
    return order(problem_of(collective, ranks, 0, bytes)).front();
}

TEST(Costs, RootedCollectivesTakeATreeWhenTheRootIsBusyWithManyShortMessages) {
    for (const Collective collective : {Collective::gather, Collective::scatter}) {
        EXPECT_EQ(first(collective, 16, 8), "flat");
        EXPECT_EQ(first(collective, 1024, 8), "binomial");
        EXPECT_EQ(first(collective, 1024, 1 << 24), "flat");
    }
}

TEST(Costs, OfTheTextbooksMachine) {
    EXPECT_EQ(first(Collective::barrier, 4, 0), "flat");
    EXPECT_EQ(first(Collective::barrier, 1024, 0), "recursive_doubling");
    EXPECT_EQ(first(Collective::barrier, 1025, 0), "dissemination");
    EXPECT_EQ(first(Collective::alltoall, 16, 8), "flat");
    EXPECT_EQ(first(Collective::alltoall, 1024, 8), "bruck");
    EXPECT_EQ(first(Collective::alltoall, 64, 1 << 20), "pairwise");
    EXPECT_EQ(first(Collective::alltoall, 2, 1 << 20), "flat");
    EXPECT_EQ(first(Collective::broadcast, 64, 1 << 24), "scatter_recursive_doubling");
    EXPECT_EQ(first(Collective::broadcast, 60, 1 << 24), "scatter_ring");
}

TEST(Costs, AllgatherIsFlatThenLogarithmicThenOfNeighbours) {
    EXPECT_EQ(first(Collective::allgather, 2, 1 << 20), "flat");
    EXPECT_EQ(first(Collective::allgather, 16, 8), "flat");
    EXPECT_EQ(first(Collective::allgather, 1024, 8), "recursive_doubling");
    EXPECT_EQ(first(Collective::allgather, 1000, 8), "bruck");
    EXPECT_EQ(first(Collective::allgather, 999, 8), "bruck");
    EXPECT_EQ(first(Collective::allgather, 64, 1 << 20), "recursive_doubling");
    EXPECT_EQ(first(Collective::allgather, 60, 1 << 20), "neighbor_exchange");
    EXPECT_EQ(first(Collective::allgather, 61, 1 << 20), "ring");
}

TEST(Costs, OrderOfTheAllgathers) {
    EXPECT_THAT(order(problem_of(Collective::allgather, 256, 0, 8)),
                ElementsAre("recursive_doubling", "bruck", "flat", "neighbor_exchange", "ring"));
    EXPECT_THAT(order(problem_of(Collective::allgather, 8, 0, 1 << 20)),
                ElementsAre("recursive_doubling", "neighbor_exchange", "ring", "bruck", "flat"));
}

TEST(Costs, OfAllgathervTheLongestBlockCounts) {
    const auto lengths = [](int ranks, std::uint64_t of_one, std::uint64_t of_others) {
        Problem problem = problem_of(Collective::allgatherv, ranks);
        problem.parts = all_parts(problem, [=](int from, int) { return from == 1 ? of_one : of_others; });
        return order(problem).front();
    };
    EXPECT_EQ(lengths(16, 8, 8), "flat");
    EXPECT_EQ(lengths(1000, 8, 8), "bruck");
    EXPECT_EQ(lengths(24, 1 << 20, 1 << 20), "ring");
    // On its way around the ring nothing else would move.
    EXPECT_EQ(lengths(24, 24 << 20, 0), "bruck");
}

TEST(Costs, AlltoallvIsPairwiseAmongManyWhateverTheBlocks) {
    for (const std::uint64_t bytes : {0U, 8U, 1U << 20}) {
        const auto chosen = [&](int ranks) {
            Problem problem = problem_of(Collective::alltoallv, ranks);
            problem.parts = all_parts(problem, [&](int, int) { return bytes; });
            return order(problem).front();
        };
        EXPECT_EQ(chosen(2), "flat");
        EXPECT_EQ(chosen(16), "flat");
        EXPECT_EQ(chosen(24), "pairwise");
        EXPECT_EQ(chosen(256), "pairwise");
    }
}

TEST(Costs, TheRootNeedNotSignalWhereBlocksAreNotKnownToBeLong) {
    EXPECT_THAT(order(problem_of(Collective::gatherv, 64)), ElementsAre("flat", "sequential"));
}

TEST(ReductionCosts, ShortVectorsTakeFewStepsLongOnesFewBytes) {
    const auto first = [](Collective collective, int ranks, std::uint64_t elements, bool ordered = false) {
        return order(with_parts(problem_of(collective, ranks, 0, elements, false, ordered)).front()).front();
    };
    EXPECT_EQ(first(Collective::reduce, 8, 2), "flat");
    EXPECT_EQ(first(Collective::reduce, 16, 250), "binomial");
    EXPECT_EQ(first(Collective::reduce, 500, 2), "binomial");
    EXPECT_EQ(first(Collective::reduce, 16, 1 << 18), "rabenseifner");
    EXPECT_EQ(first(Collective::reduce, 16, 1 << 18, true), "rabenseifner");
    EXPECT_EQ(first(Collective::allreduce, 16, 2), "flat");
    EXPECT_EQ(first(Collective::allreduce, 500, 2), "recursive_doubling");
    EXPECT_EQ(first(Collective::allreduce, 16, 1 << 18), "rabenseifner");
    EXPECT_EQ(first(Collective::allreduce, 12, 1 << 18), "ring");
    EXPECT_EQ(first(Collective::allreduce, 12, 1 << 18, true), "rabenseifner");
    EXPECT_EQ(first(Collective::reduce_scatter_block, 64, 2), "recursive_halving");
    EXPECT_EQ(first(Collective::reduce_scatter_block, 64, 2, true), "pairwise");
    EXPECT_EQ(first(Collective::reduce_scatter_block, 12, 1 << 18), "pairwise");
    EXPECT_EQ(first(Collective::reduce_scatter, 64, 0), "recursive_halving");
    EXPECT_EQ(first(Collective::scan, 16, 2), "recursive_doubling");
    EXPECT_EQ(first(Collective::exscan, 16, 1 << 18), "recursive_doubling");
}

// Groups inside one host change the choice only where an algorithm over all levels is cheaper.
TEST(Levels, OneHostWithGroupsHasTheCostsOfOneHost) {
    for (const Collective collective : all_collectives()) {
        Problem alone = problem_of(collective, 8, 0, 4096);
        if (has_parts(collective)) continue;
        if (collective == Collective::barrier) alone.bytes = 0;
        Problem grouped = alone;
        grouped.placement = std::make_shared<const Placement>(Hosts(8), std::span<const int>{},
                                                              std::vector<Hosts>{{0, 0, 0, 0, 1, 1, 1, 1}});
        for (const Algorithm* algorithm : algorithms_of(collective)) {
            const Choice choice{algorithm, default_parameters(*algorithm)};
            if (std::string_view(algorithm->name) == "multi_level") {
                EXPECT_GT(modelled_seconds(grouped, choice, {}), 0);
                continue;
            }
            EXPECT_EQ(static_cast<bool>(algorithm->applies(alone, choice.parameters)),
                      static_cast<bool>(algorithm->applies(grouped, choice.parameters)));
            EXPECT_EQ(modelled_seconds(alone, choice, {}), modelled_seconds(grouped, choice, {}));
            if (!algorithm->knows_hosts) {
                for (int rank = 0; rank < 8; ++rank)
                    EXPECT_EQ(build(alone, rank, choice), build(grouped, rank, choice)) << algorithm->name;
            }
        }
    }
}

TEST(Levels, AreChosenOnHostsOfManyRanks) {
    Hosts hosts;
    std::vector<Hosts> groups(2);
    for (std::uint64_t rank = 0; rank < 512; ++rank) {
        hosts.push_back(rank / 128);
        groups[0].push_back(rank / 32);
        groups[1].push_back(rank / 8);
    }
    for (const Collective collective : {Collective::broadcast, Collective::reduce, Collective::allreduce}) {
        Problem problem = problem_of(collective, 512, 0, 64);
        problem.placement = std::make_shared<const Placement>(hosts, std::span<const int>{}, groups);
        EXPECT_STREQ(candidates(problem).front().choice.algorithm->name, "multi_level") << name(collective);
    }
}

Hosts ranks_in_turn(int hosts, int each) {
    Hosts all;
    for (int rank = 0; rank < hosts * each; ++rank) all.push_back(static_cast<std::uint64_t>(rank % hosts));
    return all;
}

// Where messages inside a host cost nearly nothing.
TEST(TwoLevel, IsChosenWhereItIsCheaper) {
    const auto first = [](const Problem& problem) {
        return std::string(candidates(problem).front().choice.algorithm->name);
    };
    const Hosts hosts = blocks_of_ranks(8, 8);
    // With consecutive numbers, recursive doubling has as few steps between hosts, and none to come back.
    EXPECT_EQ(first(on_hosts(problem_of(Collective::barrier, 64, 0, 0), hosts)), "recursive_doubling");
    for (const Collective collective :
         {Collective::broadcast, Collective::allreduce, Collective::allgather, Collective::reduce}) {
        const Problem problem = problem_of(collective, 64, 0, 8);
        EXPECT_EQ(first(on_hosts(problem, hosts)), "two_level") << name(collective);
        EXPECT_NE(first(problem), "two_level") << name(collective);
    }
    for (const Collective collective : {Collective::broadcast, Collective::allreduce}) {
        const Problem problem = problem_of(collective, 64, 0, 1 << 20);
        EXPECT_EQ(first(on_hosts(problem, hosts)), "two_level") << name(collective);
    }
    // Around the hosts each link carries long blocks once, too, and never many at a time; but only where
    // ranks that follow one another share a host.
    const Problem long_blocks = problem_of(Collective::allgather, 64, 0, 1 << 20);
    EXPECT_EQ(first(on_hosts(long_blocks, hosts)), "neighbor_exchange");
    EXPECT_EQ(first(on_hosts(long_blocks, ranks_in_turn(8, 8))), "ring");
    // Long blocks gain nothing by being collected.
    EXPECT_NE(first(on_hosts(problem_of(Collective::gather, 64, 0, 1 << 20), hosts)), "two_level");
}

}  // namespace
}  // namespace lapwing
