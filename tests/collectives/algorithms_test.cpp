// What each algorithm is, beyond being right: who speaks to whom, in how many steps. That all lists are right
// is the checker's to say, for every algorithm and shape: see proofs_test.cpp.

#include "collectives/arithmetic.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/ring.hpp"
#include "lists.hpp"
#include "support/unit.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using testing::UnorderedElementsAre;

TEST(RecursiveDoublingBarrier, ExtraRanksSignalBeforeAndAreSignalledAfter) {
    EXPECT_EQ(print(list_of(Collective::barrier, "recursive_doubling", 6, 5)),
              "list 5 in 0 out 0 scratch 0\n"
              "  recv 1\n"
              "  send 1\n"
              "  wait 1 1\n"
              "end\n");
    const List partner = list_of(Collective::barrier, "recursive_doubling", 6, 1);
    EXPECT_EQ(partner.tasks.back().kind, Kind::send);
    EXPECT_EQ(partner.tasks.back().peer, 5);
}

TEST(LogarithmicAlgorithms, TakeOneStepForEachDoubling) {
    const std::pair<Collective, const char*> algorithms[] = {{Collective::barrier, "dissemination"},
                                                             {Collective::allgather, "bruck"},
                                                             {Collective::alltoall, "bruck"},
                                                             {Collective::scan, "recursive_doubling"},
                                                             {Collective::exscan, "recursive_doubling"}};
    for (const auto& [collective, algorithm] : algorithms) {
        for (const int ranks : {2, 3, 5, 8, 9, 100, 1024}) {
            SCOPED_TRACE(testing::Message() << name(collective) << " " << ranks);
            const auto steps = static_cast<std::size_t>(ceil_log2(ranks));
            EXPECT_EQ(count(list_of(collective, algorithm, ranks, 0), Kind::send), steps);
            EXPECT_EQ(count(list_of(collective, algorithm, ranks, ranks - 1), Kind::recv), steps);
        }
    }
}

TEST(BinomialBroadcast, RootSendsToOneRankInEachStep) {
    EXPECT_EQ(peers_of(list_of(Collective::broadcast, "binomial", 16, 0)), (std::set<int>{1, 2, 4, 8}));
    EXPECT_EQ(count(list_of(Collective::broadcast, "binomial", 16, 15), Kind::send), 0U);
}

TEST(KNomialBroadcast, HasFewerStepsThanBinomial) {
    // 16 ranks, k = 4: two levels, three children in each.
    EXPECT_EQ(count(list_of(Collective::broadcast, "k_nomial:k=4", 16, 0), Kind::send), 6U);
    EXPECT_EQ(peers_of(list_of(Collective::broadcast, "k_nomial:k=4", 16, 0)),
              (std::set<int>{1, 2, 3, 4, 8, 12}));
    EXPECT_EQ(list_of(Collective::broadcast, "k_nomial:k=2", 13, 6),
              list_of(Collective::broadcast, "binomial", 13, 6));
}

TEST(ScatterBroadcasts, NobodySendsToTheRoot) {
    for (const char* algorithm : {"scatter_ring", "scatter_recursive_doubling"}) {
        for (int ranks = 1; ranks <= 20; ++ranks) {
            EXPECT_EQ(count(list_of(Collective::broadcast, algorithm, ranks, 3 % ranks, 1000, 3 % ranks),
                            Kind::recv),
                      0U);
        }
    }
}

TEST(ScatterBroadcasts, TheRootSendsTheDataAboutTwice) {
    // Binomial would send it four times.
    EXPECT_LE(bytes_sent(list_of(Collective::broadcast, "scatter_ring", 16, 0, 16000)), 2U * 16000);
    EXPECT_LE(bytes_sent(list_of(Collective::broadcast, "scatter_recursive_doubling", 16, 0, 16000)),
              2U * 16000);
}

TEST(BinaryGather, NobodyReceivesFromMoreThanTwo) {
    for (int ranks = 1; ranks <= 40; ++ranks)
        for (int rank = 1; rank < ranks; ++rank)
            EXPECT_LE(count(list_of(Collective::gather, "binary", ranks, rank), Kind::recv), 2U);
}

TEST(BinomialGather, EachBlockTravelsAtMostLogarithmicallyOften) {
    std::uint64_t moved = 0;
    for (int rank = 0; rank < 16; ++rank)
        moved += bytes_sent(list_of(Collective::gather, "binomial", 16, rank, 1));
    EXPECT_EQ(moved, 32U);  // 16 ranks x log2(16) / 2
}

TEST(BinomialScatter, IsTheBinomialGatherMirrored) {
    for (const int ranks : {1, 2, 6, 13, 16}) {
        for (int rank = 0; rank < ranks; ++rank) {
            const List scatter = list_of(Collective::scatter, "binomial", ranks, rank, 8, ranks / 2);
            const List gather = list_of(Collective::gather, "binomial", ranks, rank, 8, ranks / 2);
            EXPECT_EQ(peers_of(scatter), peers_of(gather));
            EXPECT_EQ(count(scatter, Kind::send), count(gather, Kind::recv));
            EXPECT_EQ(count(scatter, Kind::recv), count(gather, Kind::send));
            EXPECT_EQ(scatter.scratch_bytes, gather.scratch_bytes);
        }
    }
}

TEST(BinomialScatter, TheLargestSubtreeIsServedFirst) {
    EXPECT_EQ(print(list_of(Collective::scatter, "binomial", 7, 0, 2)),
              "list 0 in 14 out 2 scratch 0\n"
              "  send 4 in[8+6]\n"
              "  send 2 in[4+4]\n"
              "  send 1 in[2+2]\n"
              "  copy out[0+2] in[0+2]\n"
              "end\n");
}

TEST(FlatScatter, TheRootDoesNotWait) {
    const List root = list_of(Collective::scatter, "flat", 12, 5, 8, 5);
    EXPECT_EQ(count(root, Kind::send), 11U);
    EXPECT_EQ(count(root, Kind::wait), 0U);
}

TEST(NeighborExchangeAllgather, SpeaksOnlyToTheNeighboursInHalfAsManySteps) {
    for (int rank = 0; rank < 10; ++rank) {
        const List list = list_of(Collective::allgather, "neighbor_exchange", 10, rank);
        EXPECT_EQ(peers_of(list), (std::set<int>{(rank + 1) % 10, (rank + 9) % 10}));
        EXPECT_EQ(count(list, Kind::send), 5U);
    }
}

TEST(RecursiveDoublingAllgather, SendsLogarithmicallyManyMessages) {
    const List list = list_of(Collective::allgather, "recursive_doubling", 1 << 20, 12345);
    EXPECT_EQ(count(list, Kind::send), 20U);
    EXPECT_EQ(list.scratch_bytes, 0U);
}

TEST(BruckAllgather, CopiesRunsOfBlocks) {
    // The own block, and the others from above and below it.
    EXPECT_LE(count(list_of(Collective::allgather, "bruck", 100, 1), Kind::copy), 4U);
}

TEST(Allgathers, NobodySendsABlockTwiceToOneRank) {
    for (const char* algorithm : {"flat", "ring", "recursive_doubling", "neighbor_exchange", "bruck"}) {
        std::uint64_t moved = 0;
        for (int rank = 0; rank < 16; ++rank)
            moved += bytes_sent(list_of(Collective::allgather, algorithm, 16, rank, 3));
        EXPECT_EQ(moved, 16U * 15U * 3U) << algorithm;
    }
}

TEST(PairwiseAlltoall, WindowBoundsTheSendsInFlight) {
    for (const int ranks : {2, 5, 8, 12, 17}) {
        for (const std::size_t window : {1U, 3U, 6U}) {
            const std::string choice = "pairwise:window=" + std::to_string(window);
            for (int rank = 0; rank < ranks; ++rank)
                EXPECT_LE(max_in_flight(list_of(Collective::alltoall, choice.c_str(), ranks, rank)), window);
        }
    }
}

TEST(PairwiseAlltoall, InEachRoundRanksFormPairs) {
    for (const int ranks : {2, 3, 6, 7, 8, 13}) {
        std::vector<std::vector<int>> sent_to;
        for (int rank = 0; rank < ranks; ++rank) {
            std::vector<int>& order = sent_to.emplace_back();
            std::vector<int> received;
            for (const Task& task : list_of(Collective::alltoall, "pairwise:window=1", ranks, rank).tasks) {
                if (sends(task.kind)) order.push_back(task.peer);
                if (task.kind == Kind::wait) received.push_back(task.peer);
            }
            // What is sent in a round is answered in it.
            EXPECT_EQ(order, received);
            EXPECT_EQ(order.size(), static_cast<std::size_t>(ranks - 1));
        }
        if (ranks % 2 != 0) continue;  // with an idle rank in each round, rounds are not places in the list
        for (int rank = 0; rank < ranks; ++rank) {
            for (std::size_t round = 0; round + 1 < static_cast<std::size_t>(ranks); ++round) {
                const int peer = sent_to[static_cast<std::size_t>(rank)][round];
                EXPECT_EQ(sent_to[static_cast<std::size_t>(peer)][round], rank);
            }
        }
    }
}

TEST(Algorithms, DeclineWhatNeedsTooMuchScratch) {
    for (const char* name : {"ring", "bruck"}) {
        const Choice choice = parse_choice(Collective::alltoall, name);
        const Problem huge{.collective = Collective::alltoall, .ranks = 1024, .bytes = 1 << 20};
        EXPECT_FALSE(choice.algorithm->applies(huge, choice.parameters)) << name;
    }
    const Choice bruck = parse_choice(Collective::allgather, "bruck");
    EXPECT_TRUE(
        bruck.algorithm->applies(problem_of(Collective::allgather, 1024, 0, 1 << 20), bruck.parameters));
    EXPECT_FALSE(
        bruck.algorithm->applies(problem_of(Collective::allgather, 1025, 0, 1 << 20), bruck.parameters));
}

// Collectives whose blocks have several lengths: what their algorithms are, beyond being right.

Problem with_lengths(Collective collective, int ranks, int root, const BlockLength& lengths) {
    Problem problem = problem_of(collective, ranks, root);
    problem.parts = all_parts(problem, lengths);
    return problem;
}

// A rank whose block is 0 bytes long is none of those who take part.
std::uint64_t odd_ones_have_none(int from, int) {
    return from % 2 == 0 ? 4 : 0;
}

TEST(BlocksOfOneLength, AreSentAsByTheCollectiveWithoutParts) {
    const std::pair<Collective, Collective> forms[] = {{Collective::gather, Collective::gatherv},
                                                       {Collective::scatter, Collective::scatterv},
                                                       {Collective::allgather, Collective::allgatherv},
                                                       {Collective::alltoall, Collective::alltoallv}};
    for (const auto& form : forms) {
        for (const Algorithm* algorithm : algorithms_of(form.second)) {
            const Choice with{algorithm, default_parameters(*algorithm)};
            const Choice without = parse_choice(form.first, algorithm->name);
            for (int ranks = 1; ranks <= 9; ++ranks) {
                const int root = has_root(form.first) ? ranks / 2 : 0;
                const Problem parts = with_lengths(form.second, ranks, root, [](int, int) { return 6; });
                const Problem plain = problem_of(form.first, ranks, root, 6);
                if (!algorithm->applies(parts, with.parameters)) continue;
                for (int rank = 0; rank < ranks; ++rank) {
                    EXPECT_EQ(build(parts, rank, with), build(plain, rank, without))
                        << name(form.second) << " " << algorithm->name << " of " << ranks;
                }
            }
        }
    }
}

TEST(SequentialGatherv, WhoHasNothingIsNotSignalled) {
    const Problem problem = with_lengths(Collective::gatherv, 6, 0, odd_ones_have_none);
    const Choice sequential = parse_choice(Collective::gatherv, "sequential");
    EXPECT_TRUE(build(problem, 3, sequential).tasks.empty());
    EXPECT_EQ(print(build(problem, 4, sequential)),
              "list 4 in 4 out 0 scratch 0\n"
              "  recv 0\n"
              "  wait 0 1\n"
              "  send 0 in[0+4]\n"
              "end\n");
    EXPECT_EQ(print(build(problem, 0, sequential)),
              "list 0 in 4 out 12 scratch 0\n"
              "  recv 2 out[4+4]\n"
              "  recv 4 out[8+4]\n"
              "  send 2\n"
              "  copy out[0+4] in[0+4]\n"
              "  wait 2 1\n"
              "  send 4\n"
              "  wait 4 1\n"
              "end\n");
}

TEST(SequentialGatherv, WindowBoundsTheSenders) {
    const Problem problem = with_lengths(Collective::gatherv, 20, 3, odd_ones_have_none);
    EXPECT_EQ(max_in_flight(build(problem, 3, parse_choice(Collective::gatherv, "sequential"))), 1U);
    EXPECT_EQ(max_in_flight(build(problem, 3, parse_choice(Collective::gatherv, "sequential:window=3"))), 3U);
}

TEST(RingAllgatherv, EmptyBlocksAreNotHandedOn) {
    const Problem problem = with_lengths(Collective::allgatherv, 8, 0, odd_ones_have_none);
    const Choice ring = parse_choice(Collective::allgatherv, "ring");
    EXPECT_EQ(count(build(problem, 0, ring), Kind::recv), 3U);  // of 2, 4 and 6
    EXPECT_EQ(count(build(problem, 0, ring), Kind::send), 4U);  // not those of the rank above
    EXPECT_EQ(count(build(problem, 1, ring), Kind::send), 3U);
}

TEST(PairwiseAlltoallv, EmptyBlocksAreNotSent) {
    const Problem problem = with_lengths(Collective::alltoallv, 17, 0, [](int from, int to) {
        return static_cast<std::uint64_t>(from * to % 3);
    });
    const Choice choice = parse_choice(Collective::alltoallv, "pairwise:window=3");
    EXPECT_EQ(count(build(problem, 0, choice), Kind::send), 0U);
    EXPECT_EQ(count(build(problem, 1, choice), Kind::send),
              10U);  // not to 0, 3, 6, 9, 12 and 15, nor to itself
}

TEST(Rings, SpeakToNeighboursInTheOrderOnly) {
    const std::uint64_t hosts[] = {7, 5, 7, 5, 7};
    const int order[] = {3, 1, 4, 0, 2};
    const auto placement = std::make_shared<const Placement>(hosts, order);
    for (const Collective collective :
         {Collective::allgather, Collective::allgatherv, Collective::alltoall}) {
        Problem problem = sample_problems(collective, 5, 24).front();
        problem.placement = placement;
        for (std::size_t place = 0; place < 5; ++place) {
            const List list = build(problem, order[place], parse_choice(collective, "ring"));
            EXPECT_THAT(peers_of(list), UnorderedElementsAre(order[(place + 1) % 5], order[(place + 4) % 5]))
                << name(collective);
        }
    }
}

TEST(Rings, ByNumbersWithoutAPlacement) {
    const Problem problem = problem_of(Collective::allgather, 5);
    const Ring ring(problem, 3);
    EXPECT_EQ(ring.above(0), 3);
    EXPECT_EQ(ring.above(2), 0);
    EXPECT_EQ(ring.above(5), 3);
    EXPECT_EQ(ring.below(4), 4);
    EXPECT_EQ(ring.distance(1), 3);
}

}  // namespace
}  // namespace lapwing
