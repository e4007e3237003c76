// The chain form: what stands where, for lists written by hand and for every algorithm.
#include "task/chains.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "checker_lists.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The list of rank 0 of a problem that is large enough for every span below.
List list_of(const std::string& tasks) {
    const std::string text =
        "problem alltoall ranks 4 bytes 4096\nlist 0 in 16384 out 16384 scratch 16384\n" + tasks +
        "end\nlist 1 in 16384 out 16384 scratch 0\nend\n"
        "list 2 in 16384 out 16384 scratch 0\nend\n"
        "list 3 in 16384 out 16384 scratch 0\nend\n";
    return parse(text).lists[0];
}

std::vector<std::string> printed(const Chain& chain) {
    std::vector<std::string> steps;
    for (const Step& step : chain) steps.push_back(print(step));
    return steps;
}

std::vector<std::string> printed(const std::vector<Task>& tasks) {
    std::vector<std::string> lines;
    for (const Task& task : tasks) lines.push_back(print(task));
    return lines;
}

TEST(Chains, ShortReceivesStandInPlaceOfTheirWaits) {
    const Chains chains = lower_to_chains(parse(hand_written::barrier_of_4).lists[0]);
    EXPECT_THAT(chains.receives, IsEmpty());
    EXPECT_EQ(chains.gates, 0);
    ASSERT_EQ(chains.stages.size(), 1U);
    ASSERT_EQ(chains.stages[0].chains.size(), 1U);
    EXPECT_THAT(printed(chains.stages[0].chains[0]), ElementsAre("send 1 a signal", "receive 1 a signal",
                                                                 "send 2 a signal", "receive 2 a signal"));
}

TEST(Chains, LongReceivesHaveChainsOfTheirOwn) {
    const Chains chains = lower_to_chains(parse(hand_written::barrier_of_4).lists[0], {.eager_bytes = 0});
    ASSERT_EQ(chains.receives.size(), 2U);
    EXPECT_THAT(printed(chains.receives[0]), ElementsAre("receive 1 a signal", "signal gate 0"));
    EXPECT_THAT(printed(chains.receives[1]), ElementsAre("receive 2 a signal"));  // nothing follows its wait
    ASSERT_EQ(chains.stages.size(), 1U);
    EXPECT_THAT(printed(chains.stages[0].chains[0]),
                ElementsAre("send 1 a signal", "await gate 0 1", "send 2 a signal"));
    EXPECT_EQ(chains.gates, 1);
}

TEST(Chains, TheLimitOfReceivesAmongSendsIsWhatAPeerSendsInTheWholeList) {
    const List list = list_of(
        "  recv 1 out[0+600]\n  recv 1 out[600+424]\n  recv 2 out[1024+600]\n  recv 2 out[1624+425]\n"
        "  wait 1 2\n  wait 2 2\n  send 3 in[0+1]\n");
    const Chains chains = lower_to_chains(list);
    ASSERT_EQ(chains.receives.size(), 1U);
    EXPECT_EQ(chains.receives[0].front().peer, 2);
    EXPECT_THAT(
        printed(chains.stages[0].chains[0]),
        ElementsAre("receive 1 out[0+600]", "receive 1 out[600+424]", "await gate 0 1", "send 3 in[0+1]"));
}

TEST(Chains, OneGateForAGroupOfWaits) {
    const List list = list_of(
        "  recv 1 out[0+4]\n  recv 2 out[4+4]\n  recv 3 out[8+4]\n"
        "  wait 1 1\n  wait 2 1\n  wait 3 1\n  send 1 in[0+1]\n");
    const Chains chains = lower_to_chains(list, {.eager_bytes = 0});
    EXPECT_EQ(chains.gates, 1);
    EXPECT_THAT(printed(chains.stages[0].chains[0]), ElementsAre("await gate 0 3", "send 1 in[0+1]"));
}

TEST(Chains, OneGateForAPeerWhereGroupsAreMore) {
    const List list = list_of(
        "  recv 1 out[0+4]\n  recv 1 out[4+4]\n"
        "  wait 1 1\n  send 2 in[0+1]\n  wait 1 1\n  send 3 in[0+1]\n");
    const Chains chains = lower_to_chains(list, {.eager_bytes = 0});
    EXPECT_EQ(chains.gates, 1);
    EXPECT_THAT(printed(chains.receives[0]),
                ElementsAre("receive 1 out[0+4]", "signal gate 0", "receive 1 out[4+4]", "signal gate 0"));
    EXPECT_THAT(printed(chains.stages[0].chains[0]),
                ElementsAre("await gate 0 1", "send 2 in[0+1]", "await gate 0 1", "send 3 in[0+1]"));
}

TEST(Chains, APeerSignalsOnceForAllOfAGroup) {
    const List list = list_of(
        "  recv 1 out[0+4]\n  recv 1 out[4+4]\n  recv 1 out[8+4]\n  wait 1 2\n  wait 1 1\n  send 2 "
        "in[0+1]\n");
    const Chains chains = lower_to_chains(list, {.eager_bytes = 0});
    EXPECT_THAT(printed(chains.receives[0]), ElementsAre("receive 1 out[0+4]", "receive 1 out[4+4]",
                                                         "receive 1 out[8+4]", "signal gate 0"));
    EXPECT_THAT(printed(chains.stages[0].chains[0]), ElementsAre("await gate 0 1", "send 2 in[0+1]"));
}

TEST(Chains, AGateGetsNoMoreSignalsThanItHolds) {
    const List list = list_of(
        "  recv 1 out[0+4]\n  recv 2 out[4+4]\n  recv 3 out[8+4]\n"
        "  wait 1 1\n  wait 2 1\n  wait 3 1\n  send 1 in[0+1]\n");
    const Chains chains = lower_to_chains(list, {.eager_bytes = 0, .gate_signals = 2});
    EXPECT_EQ(chains.gates, 2);
    EXPECT_THAT(printed(chains.stages[0].chains[0]),
                ElementsAre("await gate 0 2", "await gate 1 1", "send 1 in[0+1]"));
}

TEST(Chains, LocalWorkMakesStages) {
    const List list = list_of(
        "  recv 1 scratch[0+4]\n  recv 1 scratch[4+4]\n"
        "  send 2 in[0+4]\n  copy out[0+4] in[0+4]\n  wait 1 1\n  copy out[4+4] scratch[0+4]\n"
        "  send 3 out[4+4]\n  copy out[12+4] in[4+4]\n  wait 1 1\n  copy out[8+4] scratch[4+4]\n");
    const Chains chains = lower_to_chains(list);
    ASSERT_EQ(chains.stages.size(), 2U);
    EXPECT_THAT(printed(chains.stages[0].local), ElementsAre("copy out[0+4] in[0+4]"));  // overtakes the send
    EXPECT_THAT(printed(chains.stages[0].chains[0]), ElementsAre("send 2 in[0+4]", "receive 1 scratch[0+4]"));
    EXPECT_THAT(printed(chains.stages[1].local),
                ElementsAre("copy out[4+4] scratch[0+4]", "copy out[12+4] in[4+4]"));
    EXPECT_THAT(printed(chains.stages[1].chains[0]),
                ElementsAre("send 3 out[4+4]", "receive 1 scratch[4+4]"));
    EXPECT_THAT(printed(chains.last), ElementsAre("copy out[8+4] scratch[4+4]"));
}

// Of hosts of two ranks, this one's intra-node peer is rank 1.
const std::vector<bool> rank_1_is_intra_node = {false, true, false, false};

TEST(Chains, IntraNodeTasksAreHostSteps) {
    const List list = list_of(
        "  recv 1 scratch[0+4]\n  recv 2 out[0+4]\n"
        "  wait 1 1\n  send 2 scratch[0+4]\n  wait 2 1\n  send 1 out[0+4]\n");
    for (const std::uint64_t eager : {0U, 1024U}) {
        const Chains chains = lower_to_chains(list, {.eager_bytes = eager}, rank_1_is_intra_node);
        ASSERT_EQ(chains.stages.size(), 1U);
        const Stage& stage = chains.stages[0];
        EXPECT_THAT(printed(stage.local), ElementsAre("recv 1 scratch[0+4]", "wait 1 1"));
        EXPECT_THAT(printed(stage.beside), ElementsAre("wait 2 1", "send 1 out[0+4]"));
        EXPECT_EQ(chains.receives.size(), eager == 0 ? 1U : 0U);
        EXPECT_EQ(printed(stage.chains[0])[0], "send 2 scratch[0+4]");
        // The processor looks at the receive itself.
        EXPECT_EQ(stage.chains[0].size(), eager == 0 ? 1U : 2U);
        EXPECT_EQ(chains.gates, 0);
    }
}

TEST(Chains, IntraNodeSendsDoNotStopInterNodeOnes) {
    // A broadcast in two parts, handed on to rank 3 and to the intra-node peer.
    const List list = list_of(
        "  recv 2 out[0+4]\n  recv 2 out[4+4]\n"
        "  wait 2 1\n  send 3 out[0+4]\n  send 1 out[0+4]\n  wait 2 1\n  send 3 out[4+4]\n  send 1 "
        "out[4+4]\n");
    const Chains chains = lower_to_chains(list, {.eager_bytes = 0}, rank_1_is_intra_node);
    ASSERT_EQ(chains.stages.size(), 1U);
    EXPECT_THAT(printed(chains.stages[0].chains[0]),
                ElementsAre("await gate 0 1", "send 3 out[0+4]", "await gate 0 1", "send 3 out[4+4]"));
    // Counted from the beginning of the list.
    EXPECT_THAT(printed(chains.stages[0].beside),
                ElementsAre("wait 2 1", "send 1 out[0+4]", "wait 2 2", "send 1 out[4+4]"));
}

TEST(Chains, AnInterNodeSendAfterAnIntraNodeWaitMakesAStage) {
    const List list = list_of(
        "  recv 1 scratch[0+4]\n  recv 1 scratch[4+4]\n  recv 2 scratch[8+4]\n"
        "  send 2 in[0+4]\n  wait 1 1\n  send 2 scratch[0+4]\n  send 1 in[0+4]\n  wait 1 1\n  wait 2 1\n"
        "  copy out[0+4] scratch[8+4]\n");
    const Chains chains = lower_to_chains(list, {}, rank_1_is_intra_node);
    ASSERT_EQ(chains.stages.size(), 2U);
    EXPECT_THAT(printed(chains.stages[0].local), ElementsAre("recv 1 scratch[0+4]", "recv 1 scratch[4+4]"));
    EXPECT_THAT(printed(chains.stages[0].chains[0]), ElementsAre("send 2 in[0+4]"));
    EXPECT_THAT(printed(chains.stages[0].beside), ElementsAre("wait 1 1"));
    EXPECT_THAT(printed(chains.stages[1].local), ElementsAre("send 1 in[0+4]"));
    EXPECT_THAT(printed(chains.stages[1].chains[0]),
                ElementsAre("send 2 scratch[0+4]", "receive 2 scratch[8+4]"));
    EXPECT_THAT(printed(chains.stages[1].beside),
                ElementsAre("wait 1 1", "wait 2 1", "copy out[0+4] scratch[8+4]"));
    EXPECT_THAT(chains.last, IsEmpty());
    EXPECT_THAT(print(chains), HasSubstr("  CPU, meanwhile\n    wait 1 1\n"));
}

TEST(Chains, CopiesStopInterNodeSendsOnlyWhereTheListSaysSo) {
    const List list = list_of(
        "  recv 2 scratch[0+4]\n  recv 3 scratch[4+4]\n"
        "  send 1 in[0+4]\n  wait 2 1\n  copy out[0+4] scratch[0+4]\n  wait 3 1\n  copy out[4+4] "
        "scratch[4+4]\n");
    EXPECT_EQ(lower_to_chains(list, {}, rank_1_is_intra_node).stages.size(), 1U);
    EXPECT_EQ(lower_to_chains(list).stages.size(), 2U);
}

TEST(Chains, IntraNodePeersOfOthersChangeNothing) {
    const List list = list_of("  recv 2 out[0+4]\n  send 3 in[0+1]\n  wait 2 1\n  copy out[4+4] out[0+4]\n");
    EXPECT_EQ(lower_to_chains(list, {}, rank_1_is_intra_node), lower_to_chains(list));
    const std::vector<int> hosts = {7, 2, 7, 2};
    EXPECT_EQ(intra_node_peers(hosts, 0), (std::vector<bool>{false, false, true, false}));
    EXPECT_THAT(intra_node_peers({}, 0), IsEmpty());
}

TEST(Chains, AWaitForNothingMakesNoStage) {
    const Chains chains = lower_to_chains(
        list_of("  copy out[0+4] in[0+4]\n  wait 1 0\n  copy out[4+4] in[4+4]\n  send 1 in[0+4]\n"));
    ASSERT_EQ(chains.stages.size(), 1U);
    EXPECT_EQ(chains.stages[0].local.size(), 2U);
}

TEST(Chains, AnEmptyListIsOneEmptyStage) {
    const Chains chains = lower_to_chains(list_of(""));
    ASSERT_EQ(chains.stages.size(), 1U);
    EXPECT_THAT(chains.stages[0].chains, IsEmpty());
    EXPECT_THAT(chains.receives, IsEmpty());
}

TEST(Chains, LongMessagesAreSeveralSteps) {
    const List list = list_of("  recv 1 out[0+5]\n  send 1 in[0+4]\n  wait 1 1\n");
    const Chains chains = lower_to_chains(list, {.eager_bytes = 0, .step_bytes = 2});
    EXPECT_THAT(printed(chains.receives[0]),
                ElementsAre("receive 1 out[0+2]", "receive 1 out[2+2]", "receive 1 out[4+1]"));
    EXPECT_THAT(printed(chains.stages[0].chains[0]), ElementsAre("send 1 in[0+2]", "send 1 in[2+2]"));
    EXPECT_EQ(lower_to_chains(list, {.eager_bytes = 0, .step_bytes = 0}).receives[0].size(), 5U);
}

TEST(Chains, LongChainsAreCut) {
    const List list =
        list_of("  recv 1 out[0+4]\n  wait 1 1\n  send 1 in[0+1]\n  send 2 in[1+1]\n  send 3 in[2+1]\n");
    const Chains chains = lower_to_chains(list, {.chain_steps = 3});
    ASSERT_EQ(chains.stages[0].chains.size(), 2U);
    EXPECT_THAT(printed(chains.stages[0].chains[0]),
                ElementsAre("receive 1 out[0+4]", "send 1 in[0+1]", "signal gate 0"));
    EXPECT_THAT(printed(chains.stages[0].chains[1]),
                ElementsAre("await gate 0 1", "send 2 in[1+1]", "send 3 in[2+1]"));
    EXPECT_EQ(lower_to_chains(list, {.chain_steps = 4}).stages[0].chains.size(), 1U);
    EXPECT_EQ(lower_to_chains(list, {.chain_steps = 1}), chains);  // no piece can be shorter than 3
}

TEST(Chains, PrintNamesThePeerOfEveryPiece) {
    const List list = list_of("  recv 1 out[0+6]\n  wait 1 1\n  send 2 in[0+1]\n");
    const std::string text =
        print(lower_to_chains(list, {.eager_bytes = 0, .step_bytes = 2, .chain_steps = 3}));
    EXPECT_THAT(text, HasSubstr("receive chain from 1"));
    EXPECT_EQ(text.find("from -1"), std::string::npos) << text;
    EXPECT_THAT(text, HasSubstr("    await gate 0 1\n"));
}

TEST(Chains, RefusesWhatIsNoList) {
    EXPECT_THROW(lower_to_chains(list_of("  wait 1 1\n")), Error);
    EXPECT_THROW(lower_to_chains(list_of("  recv 1 out[0+1]\n")), Error);
    List list = list_of("  send 1 in[0+1]\n");
    Task enable;
    enable.kind = Kind::enable_send;
    enable.peer = 1;
    list.tasks.push_back(enable);
    EXPECT_THROW(lower_to_chains(list), Error);
    EXPECT_FALSE(has_chains(list));
    EXPECT_FALSE(has_chains(list_of("  send 1 in[0+1]\n  recv 1 out[0+1]\n  wait 1 1\n")));
    EXPECT_TRUE(has_chains(list_of("  recv 1 out[0+1]\n  send 1 in[0+1]\n  wait 1 1\n")));
}

}  // namespace
}  // namespace lapwing
