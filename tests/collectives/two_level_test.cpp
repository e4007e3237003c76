// What the two-level algorithms are, beyond being right: which messages leave a host. That all lists are
// right is the checker's to say: see proofs_test.cpp.

#include "collectives/catalogue.hpp"
#include "lists.hpp"
#include "support/unit.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

std::string text_of(const Problem& problem, const char* choice, int rank) {
    return print(build(problem, rank, parse_choice(problem.collective, choice)));
}

std::string why_not(const Problem& problem, const char* name = "two_level") {
    const Choice choice = parse_choice(problem.collective, name);
    const Verdict verdict = choice.algorithm->applies(problem, choice.parameters);
    return verdict ? "" : verdict.reason();
}

// Messages, and bytes of them, that go from one host to another.
struct InterNode {
    std::size_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t max_into_one_host = 0;  // bytes
};
InterNode inter_node_of(const Problem& problem, const char* choice) {
    InterNode inter_node;
    std::vector<std::uint64_t> into(static_cast<std::size_t>(problem.placement->hosts()));
    for (int rank = 0; rank < problem.ranks; ++rank) {
        for (const Task& task : build(problem, rank, parse_choice(problem.collective, choice)).tasks) {
            if (!sends(task.kind)) continue;
            const int host = problem.placement->host_of(task.peer);
            if (host == problem.placement->host_of(rank)) continue;
            ++inter_node.messages;
            inter_node.bytes += task.source.length;
            into[static_cast<std::size_t>(host)] += task.source.length;
        }
    }
    inter_node.max_into_one_host = *std::max_element(into.begin(), into.end());
    return inter_node;
}

TEST(TwoLevel, DeclinesWhereThereIsOneLevel) {
    const Problem barrier{.collective = Collective::barrier, .ranks = 4};
    EXPECT_EQ(why_not(barrier), "the hosts of the ranks are unknown");
    EXPECT_EQ(why_not(on_hosts(barrier, {0, 0, 0, 0})), "all ranks are on one host");
    EXPECT_EQ(why_not(on_hosts(barrier, {0, 1, 2, 3})), "every host has one rank");
    EXPECT_EQ(why_not(on_hosts(barrier, {0, 1, 2, 2})), "");
}

TEST(TwoLevel, AnOperatorThatDoesNotCommuteNeedsTheOrderOfTheRanks) {
    for (const Collective collective : {Collective::reduce, Collective::allreduce}) {
        const Problem problem = problem_of(collective, 4, 0, 4, false, true);
        EXPECT_EQ(why_not(on_hosts(problem, {0, 0, 1, 1})), "");
        const std::string why =
            "the operator does not commute, and the ranks are not in rank order host by host";
        EXPECT_EQ(why_not(on_hosts(problem, {0, 1, 0, 1})), why);
        EXPECT_EQ(why_not(on_hosts(problem, {0, 0, 1, 1}, std::vector{2, 3, 0, 1})), why);
        EXPECT_EQ(why_not(on_hosts(problem_of(collective, 4, 0, 4), {0, 1, 0, 1})), "");
    }
}

// But for rings, which follow another order of the ranks.
TEST(TwoLevel, FlatListsAreTheSameWithAPlacement) {
    for (const Algorithm* algorithm : catalogue()) {
        if (algorithm->knows_hosts) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const Problem& problem : sample_problems(algorithm->collective, 6, 24)) {
            if (!algorithm->applies(problem, choice.parameters)) continue;
            const Problem placed = on_hosts(problem, {0, 0, 1, 1, 1, 2});
            for (const int rank : {0, 3})
                ASSERT_EQ(build(placed, rank, choice), build(problem, rank, choice));
        }
    }
}

TEST(TwoLevelBarrier, OnlyLeadersSignalOtherHosts) {
    EXPECT_EQ(inter_node_of(on_hosts({.collective = Collective::barrier}, blocks_of_ranks(4, 8)), "two_level")
                  .messages,
              8U);
}

TEST(TwoLevelBroadcast, TheRootIsItsHostsLeader) {
    const Problem problem =
        on_hosts({.collective = Collective::broadcast, .ranks = 4, .root = 1, .bytes = 8}, {0, 0, 1, 1});
    EXPECT_EQ(text_of(problem, "two_level", 1),
              "list 1 in 8 out 0 scratch 0\n"
              "  send 2 in[0+8]\n"
              "  send 0 in[0+8]\n"
              "end\n");
    EXPECT_EQ(text_of(problem, "two_level", 2),
              "list 2 in 0 out 8 scratch 0\n"
              "  recv 1 out[0+8]\n"
              "  wait 1 1\n"
              "  send 3 out[0+8]\n"
              "end\n");
}

TEST(TwoLevelBroadcast, DataComesToAHostOnceAndSegmentsFollowOneAnother) {
    const Problem problem =
        on_hosts({.collective = Collective::broadcast, .root = 5, .bytes = 1 << 20}, blocks_of_ranks(4, 4));
    for (const char* choice : {"two_level", "two_level:k=2", "two_level:leaders=3"}) {
        const InterNode inter_node = inter_node_of(problem, choice);
        EXPECT_EQ(inter_node.bytes, 3U << 20) << choice;
        EXPECT_EQ(inter_node.max_into_one_host, 1U << 20) << choice;
        EXPECT_EQ(inter_node.messages, 3U * 32) << choice;
    }
    for (int rank = 0; rank < 16; ++rank)
        EXPECT_EQ(build(problem, rank, parse_choice(Collective::broadcast, "two_level")).scratch_bytes, 0U);
    // A chain of hosts: nobody sends to more than one other.
    const List root = build(problem, 5, parse_choice(Collective::broadcast, "two_level"));
    EXPECT_EQ(peers_of(root), (std::set<int>{4, 6, 7, 8}));
    // By three leaders: their segments leave the root's host from three ranks.
    for (const int rank : {4, 6}) {
        const List leader = build(problem, rank, parse_choice(Collective::broadcast, "two_level:leaders=3"));
        EXPECT_GT(count(leader, Kind::send), 0U) << rank;
    }
}

TEST(TwoLevelReduce, VectorsLeaveAHostOnce) {
    const Problem large = on_hosts(problem_of(Collective::reduce, 16, 6, 1 << 18), blocks_of_ranks(4, 4));
    EXPECT_EQ(inter_node_of(large, "two_level").bytes, 3U << 20);
    EXPECT_EQ(inter_node_of(large, "two_level:leaders=2").bytes, 3U << 20);
}

TEST(TwoLevelAllreduce, ShortVectorsTakeOneStepBetweenHosts) {
    const Problem problem = on_hosts(problem_of(Collective::allreduce, 4, 0, 2), {0, 0, 1, 1});
    EXPECT_EQ(text_of(problem, "two_level", 2),
              "list 2 in 8 out 8 scratch 24\n"
              "  recv 3 scratch[0+8]\n"
              "  recv 0 scratch[16+8]\n"
              "  wait 3 1\n"
              "  reduce sum uint32 scratch[0+8] in[0+8]\n"
              "  send 0 scratch[0+8]\n"
              "  wait 0 1\n"
              "  copy out[0+8] scratch[0+8]\n"
              "  reduce sum uint32 out[0+8] scratch[16+8]\n"
              "  send 3 out[0+8]\n"
              "end\n");
    EXPECT_EQ(inter_node_of(problem, "two_level").messages, 2U);
}

TEST(TwoLevelAllreduce, LongVectorsAreSentAboutTwice) {
    const Problem problem =
        on_hosts(problem_of(Collective::allreduce, 16, 0, 1 << 18), blocks_of_ranks(4, 4));
    for (const char* choice : {"two_level", "two_level:leaders=1", "two_level:segment=4"}) {
        const InterNode inter_node = inter_node_of(problem, choice);
        // Of each host's vector three quarters go to others, and as much comes back.
        EXPECT_EQ(inter_node.bytes, 4U * 2 * 3 * (1 << 18)) << choice;
        EXPECT_EQ(inter_node.max_into_one_host, 2U * 3 * (1 << 18)) << choice;
    }
    // Each of four leaders has its share.
    for (int rank = 0; rank < 4; ++rank) {
        const std::set<int> peers =
            peers_of(build(problem, rank, parse_choice(Collective::allreduce, "two_level")));
        EXPECT_EQ(*peers.rbegin(), rank + 12);
    }
}

TEST(TwoLevelGather, ALeaderSendsTheBlocksOfItsHost) {
    const Problem problem =
        on_hosts({.collective = Collective::gather, .root = 1, .bytes = 8}, {0, 0, 1, 1, 1});
    EXPECT_EQ(inter_node_of(problem, "two_level").messages, 1U);
    EXPECT_EQ(inter_node_of(problem, "two_level:leaders=2").messages, 2U);
}

TEST(TwoLevelAllgather, BlocksComeToAHostOnce) {
    const Problem problem = on_hosts({.collective = Collective::allgather, .bytes = 8}, {0, 0, 1, 1});
    EXPECT_EQ(text_of(problem, "two_level", 0),
              "list 0 in 8 out 32 scratch 0\n"
              "  recv 1 out[8+8]\n"
              "  recv 2 out[16+16]\n"
              "  copy out[0+8] in[0+8]\n"
              "  send 1 out[0+8]\n"
              "  wait 1 1\n"
              "  send 2 out[0+16]\n"
              "  wait 2 1\n"
              "  send 1 out[16+16]\n"
              "end\n");
    const Problem large =
        on_hosts({.collective = Collective::allgather, .bytes = 100}, blocks_of_ranks(4, 4));
    for (const auto& [choice, messages] :
         {std::pair("two_level", 12U), {"two_level:leaders=2", 24U}, {"two_level:leaders=4", 48U}}) {
        const InterNode inter_node = inter_node_of(large, choice);
        EXPECT_EQ(inter_node.messages, messages) << choice;
        EXPECT_EQ(inter_node.max_into_one_host, 1200U) << choice;
    }
}

TEST(TwoLevelAlltoall, HostsExchangeFewerAndLongerMessages) {
    const Problem problem = on_hosts({.collective = Collective::alltoall, .bytes = 8}, {0, 0, 1, 1});
    EXPECT_EQ(text_of(problem, "two_level", 0),
              "list 0 in 32 out 32 scratch 16\n"
              "  recv 1 out[8+8]\n"
              "  recv 1 scratch[8+8]\n"
              "  recv 2 out[16+16]\n"
              "  copy out[0+8] in[0+8]\n"
              "  copy scratch[0+8] in[16+8]\n"
              "  send 1 in[8+8]\n"
              "  send 1 in[24+8]\n"
              "  wait 1 2\n"
              "  send 2 scratch[0+16]\n"
              "  wait 2 1\n"
              "end\n");
    const Problem large = on_hosts({.collective = Collective::alltoall, .bytes = 8}, blocks_of_ranks(4, 4));
    EXPECT_EQ(inter_node_of(large, "flat").messages, 192U);
    EXPECT_EQ(inter_node_of(large, "two_level").messages, 48U);
    EXPECT_EQ(inter_node_of(large, "two_level:leaders=1").messages, 12U);
    EXPECT_EQ(inter_node_of(large, "two_level:leaders=1").bytes, inter_node_of(large, "flat").bytes);
}

}  // namespace
}  // namespace lapwing
