// What each algorithm is, beyond being right: who speaks to whom, in how many steps. That all lists are right
// is the checker's to say, for every algorithm and shape (also: lapwing verify --all).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "collectives/catalogue.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

std::vector<std::uint64_t> block_sizes(Collective collective) {
    return collective == Collective::barrier ? std::vector<std::uint64_t>{0}
                                             : std::vector<std::uint64_t>{0, 1, 5, 24};
}

std::vector<Parameters> variations(const Algorithm& algorithm) {
    std::vector<Parameters> all = {usual_parameters(algorithm)};
    for (std::size_t i = 0; i < algorithm.parameters.size(); ++i) {
        for (const std::int64_t value :
             {algorithm.parameters[i].least, std::int64_t{3}, algorithm.parameters[i].most}) {
            Parameters one = all.front();
            one[i] = value;
            all.push_back(one);
        }
    }
    return all;
}

TEST(Algorithms, AllListsAreProven) {
    for (const Algorithm* algorithm : catalogue()) {
        for (const Parameters& parameters : variations(*algorithm)) {
            for (int ranks = 1; ranks <= 20; ++ranks) {
                for (int root = 0; root < (has_root(algorithm->collective) ? ranks : 1); ++root) {
                    for (const std::uint64_t bytes : block_sizes(algorithm->collective)) {
                        for (const bool in_place : {false, true}) {
                            if (in_place && algorithm->collective != Collective::gather) continue;
                            const Problem problem{.collective = algorithm->collective,
                                                  .ranks = ranks,
                                                  .root = root,
                                                  .bytes = bytes,
                                                  .in_place = in_place};
                            if (!algorithm->applies(problem, parameters)) continue;
                            const ListSet set = build_all(problem, {algorithm, parameters});
                            const auto violations = check(problem, set.lists);
                            ASSERT_TRUE(violations.empty()) << print(problem) << " " << set.algorithm << ": "
                                                            << violations.front().what(set.lists);
                        }
                    }
                }
            }
        }
    }
}

List list_of(Collective collective, const char* choice, int ranks, int rank, std::uint64_t bytes = 8,
             int root = 0) {
    return build({.collective = collective,
                  .ranks = ranks,
                  .root = root,
                  .bytes = collective == Collective::barrier ? 0 : bytes},
                 rank, parse_choice(collective, choice));
}

std::set<int> peers_of(const List& list) {
    std::set<int> peers;
    for (const Task& task : list.tasks) {
        if (task.peer >= 0) peers.insert(task.peer);
    }
    return peers;
}

std::size_t count(const List& list, Kind kind) {
    return static_cast<std::size_t>(std::count_if(list.tasks.begin(), list.tasks.end(),
                                                  [&](const Task& task) { return task.kind == kind; }));
}

std::uint64_t bytes_sent(const List& list) {
    std::uint64_t bytes = 0;
    for (const Task& task : list.tasks) {
        if (sends(task.kind)) bytes += task.source.length;
    }
    return bytes;
}

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

// The number of sends that a list has started and that no wait has followed, at most.
std::size_t most_in_flight(const List& list) {
    std::size_t most = 0;
    std::size_t now = 0;
    for (const Task& task : list.tasks) {
        if (sends(task.kind)) most = std::max(most, ++now);
        if (task.kind == Kind::wait) now -= std::min<std::size_t>(now, task.count);
    }
    return most;
}

TEST(SequentialGather, WindowBoundsTheSenders) {
    for (const auto& [choice, window] :
         std::map<std::string, std::size_t>{{"sequential", 1}, {"sequential:window=3", 3}}) {
        EXPECT_EQ(most_in_flight(list_of(Collective::gather, choice.c_str(), 12, 0)), window);
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

TEST(PairwiseAlltoall, WindowBoundsTheSendsInFlight) {
    for (const int ranks : {2, 5, 8, 12, 17}) {
        for (const std::size_t window : {1U, 3U, 6U}) {
            const std::string choice = "pairwise:window=" + std::to_string(window);
            for (int rank = 0; rank < ranks; ++rank) {
                EXPECT_LE(most_in_flight(list_of(Collective::alltoall, choice.c_str(), ranks, rank)), window);
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
}

}  // namespace
}  // namespace lapwing
