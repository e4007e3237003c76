#include "task/lowering.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "task/builder.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

// The recursive doubling barrier of four ranks (Graham et al. 2010, Tables I and II): an exchange with the
// rank 1 away, then with the rank 2 away. Receives are posted first.
List barrier_list(int rank) {
    Problem problem;
    problem.ranks = 4;
    Builder builder(problem, rank);
    const int first = rank ^ 1;
    const int second = rank ^ 2;
    builder.recv(first);
    builder.recv(second);
    builder.send(first);
    builder.wait(first);
    builder.send(second);
    builder.wait(second);
    return builder.finish();
}

// Tables of the paper as one text: a line per row, columns of the four ranks apart by " | ".
std::string table(const std::vector<std::vector<std::string>>& columns) {
    std::string text;
    for (std::size_t row = 0; row < columns[0].size(); ++row) {
        for (std::size_t column = 0; column < columns.size(); ++column) {
            text += (column == 0 ? "" : " | ") + columns[column].at(row);
        }
        text += '\n';
    }
    return text;
}

TEST(Lowering, GivesTableIII) {
    std::vector<std::vector<std::string>> columns;
    for (int rank = 0; rank < 4; ++rank) {
        auto& column = columns.emplace_back();
        for (const PeerQueues& queue : lower(barrier_list(rank)).peers) {
            ASSERT_EQ(queue.send.size(), 1U);
            EXPECT_EQ(queue.send[0].task.peer, queue.peer);
            column.push_back(fmt::format("send to {}", queue.peer));
            column.push_back(queue.send[0].enabled ? "send enabled" : "send not enabled");
        }
    }
    EXPECT_EQ(table(columns),
              "send to 1 | send to 0 | send to 3 | send to 2\n"
              "send enabled | send enabled | send enabled | send enabled\n"
              "send to 2 | send to 3 | send to 0 | send to 1\n"
              "send not enabled | send not enabled | send not enabled | send not enabled\n");
}

TEST(Lowering, GivesTableIV) {
    std::vector<std::vector<std::string>> columns;
    for (int rank = 0; rank < 4; ++rank) {
        auto& column = columns.emplace_back();
        for (const Task& task : lower(barrier_list(rank)).management) {
            EXPECT_EQ(task.count, 1U);
            ASSERT_TRUE(task.kind == Kind::enable_send || task.kind == Kind::wait);
            column.push_back(fmt::format(
                "{} {}", task.kind == Kind::wait ? "MQ recv wait from" : "send enable", task.peer));
        }
    }
    EXPECT_EQ(table(columns),
              "send enable 1 | send enable 0 | send enable 3 | send enable 2\n"
              "MQ recv wait from 1 | MQ recv wait from 0 | MQ recv wait from 3 | MQ recv wait from 2\n"
              "send enable 2 | send enable 3 | send enable 0 | send enable 1\n"
              "MQ recv wait from 2 | MQ recv wait from 3 | MQ recv wait from 0 | MQ recv wait from 1\n");
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
    EXPECT_EQ(print(lower(barrier_list(0))),
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

TEST(Lowering, OrdersPeersAsTheListNamesThem) {
    const Queues queues = lower(barrier_list(2));
    ASSERT_EQ(queues.peers.size(), 2U);
    EXPECT_EQ(queues.peers[0].peer, 3);
    EXPECT_EQ(queues.peers[1].peer, 0);
    EXPECT_EQ(queues.rank, 2);
    EXPECT_EQ(queues.ranks, 4);
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
    EXPECT_EQ(depth(lower(barrier_list(0))), 4U);  // the management queue
}

}  // namespace
}  // namespace lapwing
