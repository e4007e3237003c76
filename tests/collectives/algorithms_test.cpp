// What each algorithm is, beyond being right: who speaks to whom, in how many steps. That all lists are right
// is the checker's to say, for every algorithm and shape: see proofs_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "collectives/catalogue.hpp"
#include "lists.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

TEST(RecursiveDoublingBarrier, IsTableTwoOfThePaper) {
    EXPECT_EQ(print(list_of(Collective::barrier, "recursive_doubling", 4, 1)),
              "list 1 in 0 out 0 scratch 0\n"
              "  recv 0\n"
              "  recv 3\n"
              "  send 0\n"
              "  wait 0 1\n"
              "  send 3\n"
              "  wait 3 1\n"
              "end\n");
}

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

TEST(RecursiveDoublingBarrier, SpeaksWithLogarithmicallyManyRanks) {
    EXPECT_EQ(peers_of(list_of(Collective::barrier, "recursive_doubling", 1 << 20, 12345)).size(), 20U);
}

TEST(DisseminationBarrier, TakesOneStepForEachDoubling) {
    for (const int ranks : {2, 3, 5, 8, 9, 1000}) {
        const std::size_t steps = static_cast<std::size_t>(std::ceil(std::log2(ranks)));
        EXPECT_EQ(count(list_of(Collective::barrier, "dissemination", ranks, 1), Kind::send), steps);
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

TEST(SequentialGather, ARankSendsOnlyWhenItIsSignalled) {
    EXPECT_EQ(print(list_of(Collective::gather, "sequential", 4, 2)),
              "list 2 in 8 out 0 scratch 0\n"
              "  recv 0\n"
              "  wait 0 1\n"
              "  send 0 in[0+8]\n"
              "end\n");
}

TEST(SequentialGather, WindowBoundsTheSenders) {
    for (const auto& [choice, window] :
         std::map<std::string, std::size_t>{{"sequential", 1}, {"sequential:window=3", 3}}) {
        EXPECT_EQ(max_in_flight(list_of(Collective::gather, choice.c_str(), 12, 0)), window);
    }
}

TEST(BinaryGather, NobodyReceivesFromMoreThanTwo) {
    for (int ranks = 1; ranks <= 40; ++ranks) {
        for (int rank = 1; rank < ranks; ++rank) {
            EXPECT_LE(count(list_of(Collective::gather, "binary", ranks, rank), Kind::recv), 2U);
        }
    }
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

TEST(RingAllgather, SpeaksOnlyToTheNeighbours) {
    const List list = list_of(Collective::allgather, "ring", 10, 0);
    EXPECT_EQ(peers_of(list), (std::set<int>{1, 9}));
    EXPECT_EQ(count(list, Kind::send), 9U);
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

TEST(BruckAllgather, SendsLogarithmicallyManyMessages) {
    for (const int ranks : {2, 3, 5, 8, 100, 1024}) {
        const std::size_t steps = static_cast<std::size_t>(std::ceil(std::log2(ranks)));
        const List list = list_of(Collective::allgather, "bruck", ranks, 1);
        EXPECT_EQ(count(list, Kind::send), steps);
        // The own block, and the others from above and below it.
        EXPECT_LE(count(list, Kind::copy), 4U);
    }
}

TEST(Allgathers, NobodySendsABlockTwiceToOneRank) {
    for (const char* algorithm : {"flat", "ring", "recursive_doubling", "neighbor_exchange", "bruck"}) {
        std::uint64_t moved = 0;
        for (int rank = 0; rank < 16; ++rank)
            moved += bytes_sent(list_of(Collective::allgather, algorithm, 16, rank, 3));
        EXPECT_EQ(moved, 16U * 15U * 3U) << algorithm;
    }
}

TEST(Allgathers, DeclineNumbersOfRanks) {
    const auto applies = [](const char* algorithm, int ranks) {
        const Choice choice = parse_choice(Collective::allgather, algorithm);
        return static_cast<bool>(
            choice.algorithm->applies(problem_of(Collective::allgather, ranks, 0, 8), choice.parameters));
    };
    EXPECT_TRUE(applies("recursive_doubling", 32));
    EXPECT_FALSE(applies("recursive_doubling", 24));
    EXPECT_TRUE(applies("neighbor_exchange", 24));
    EXPECT_FALSE(applies("neighbor_exchange", 25));
    EXPECT_TRUE(applies("bruck", 25));
    EXPECT_TRUE(applies("ring", 25));
}

TEST(PairwiseAlltoall, WindowBoundsTheSendsInFlight) {
    for (const int ranks : {2, 5, 8, 12, 17}) {
        for (const std::size_t window : {1U, 3U, 6U}) {
            const std::string choice = "pairwise:window=" + std::to_string(window);
            for (int rank = 0; rank < ranks; ++rank) {
                EXPECT_LE(max_in_flight(list_of(Collective::alltoall, choice.c_str(), ranks, rank)), window);
            }
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

TEST(RingAlltoall, SpeaksOnlyToTheNeighbours) {
    EXPECT_EQ(peers_of(list_of(Collective::alltoall, "ring", 10, 0)), (std::set<int>{1, 9}));
}

TEST(BruckAlltoall, SendsLogarithmicallyManyMessages) {
    for (const int ranks : {2, 3, 5, 8, 100, 1024}) {
        const std::size_t steps = static_cast<std::size_t>(std::ceil(std::log2(ranks)));
        EXPECT_EQ(count(list_of(Collective::alltoall, "bruck", ranks, 1), Kind::send), steps);
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

}  // namespace
}  // namespace lapwing
