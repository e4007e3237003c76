#include "task/lowering.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "checker_lists.hpp"
#include "task/builder.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

List barrier_list() {
    return parse(hand_written::barrier_of_4).lists[0];
}

// The queues of a list of rank 0 of a gather of 8 bytes to it, as text.
std::string lowered(const std::string& tasks) {
    const ListSet set = parse(
        "problem gather ranks 3 root 0 bytes 8\n"
        "list 0 in 8 out 24 scratch 8\n" +
        tasks +
        "end\n"
        "list 1 in 8 out 0 scratch 0\nend\n"
        "list 2 in 8 out 0 scratch 0\nend\n");
    return print(lower(set.lists[0]));
}

TEST(Lowering, PrintsOneQueueAfterTheOther) {
    EXPECT_EQ(print(lower(barrier_list())),
              "queues of rank 0 of 4\n"
              "  receive queue from 1\n"
              "    recv 1                       enabled\n"
              "  send queue to 1\n"
              "    send 1                       enabled\n"
              "  receive queue from 2\n"
              "    recv 2                       enabled\n"
              "  send queue to 2\n"
              "    send 2                       not enabled\n"
              "  management queue\n"
              "    enable_send 1 1\n"
              "    wait 1 1\n"
              "    enable_send 2 1\n"
              "    wait 2 1                     signals\n");
}

TEST(Lowering, EnablesAReceiveThatFollowsAWait) {
    EXPECT_EQ(lowered("recv 1 scratch[0+8]\n"
                      "wait 1 1\n"
                      "copy out[8+8] scratch[0+8]\n"
                      "recv 2 scratch[0+8]\n"
                      "wait 2 1\n"),
              "queues of rank 0 of 3\n"
              "  receive queue from 1\n"
              "    recv 1 scratch[0+8]          enabled\n"
              "  receive queue from 2\n"
              "    recv 2 scratch[0+8]          not enabled\n"
              "  management queue\n"
              "    wait 1 1\n"
              "    copy out[8+8] scratch[0+8]\n"
              "    enable_recv 2 1\n"
              "    wait 2 1                     signals\n");
}

TEST(Lowering, HoldsBackWhatFollowsLocalWork) {
    // A send of bytes that a copy has yet to write must not start when it is posted.
    EXPECT_EQ(lowered("copy scratch[0+8] in[0+8]\n"
                      "send 1 scratch[0+8]\n"),
              "queues of rank 0 of 3\n"
              "  send queue to 1\n"
              "    send 1 scratch[0+8]          not enabled\n"
              "  management queue\n"
              "    copy scratch[0+8] in[0+8]\n"
              "    enable_send 1 1              signals\n");
}

TEST(Lowering, CountsEnablesThatFollowEachOther) {
    EXPECT_EQ(lowered("send 1\n"
                      "send 1\n"
                      "send 2\n"
                      "send 1\n"),
              "queues of rank 0 of 3\n"
              "  send queue to 1\n"
              "    send 1                       enabled\n"
              "    send 1                       enabled\n"
              "    send 1                       enabled\n"
              "  send queue to 2\n"
              "    send 2                       enabled\n"
              "  management queue\n"
              "    enable_send 1 2\n"
              "    enable_send 2 1\n"
              "    enable_send 1 1              signals\n");
}

TEST(Lowering, OfAnEmptyListIsEmpty) {
    const Queues queues = lower(List{});
    EXPECT_TRUE(queues.peers.empty());
    EXPECT_TRUE(queues.management.empty());
    EXPECT_EQ(depth(queues), 0U);
    EXPECT_EQ(print(queues), "queues of rank 0 of 1\n  management queue\n");
}

TEST(Lowering, RefusesAListThatWasLowered) {
    List list;
    list.tasks.emplace_back().kind = Kind::enable_send;
    EXPECT_THROW(lower(list), Error);
}

TEST(Depth, IsThatOfTheLongestQueue) {
    Problem problem;
    problem.ranks = 2;
    {
        Builder builder(problem, 0);
        for (int i = 0; i < 5; ++i) builder.send(1);
        EXPECT_EQ(depth(lower(builder.finish())), 5U);
    }
    {
        Builder builder(problem, 0);
        for (int i = 0; i < 7; ++i) builder.recv(1);
        builder.wait(1, 7);
        EXPECT_EQ(depth(lower(builder.finish())), 7U);
    }
    EXPECT_EQ(depth(lower(barrier_list())), 4U);  // the management queue
}

}  // namespace
}  // namespace lapwing
