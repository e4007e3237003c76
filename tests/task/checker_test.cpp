#include "task/checker.hpp"

#include "base/error.hpp"
#include "checker_lists.hpp"
#include "checker_verdict.hpp"
#include "support/unit.hpp"
#include "task/builder.hpp"

namespace lapwing {
namespace {

using namespace hand_written;
using testing::HasSubstr;

TEST(Checker, ProvesListsThatAreRight) {
    for (const char* text : all) EXPECT_EQ(verdict(text), "proven") << text;
}

TEST(Checker, ProvesOneRankAndNoBytes) {
    EXPECT_EQ(verdict("problem barrier ranks 1\nlist 0 in 0 out 0 scratch 0\nend\n"), "proven");
    EXPECT_EQ(verdict("problem alltoall ranks 1 bytes 0\nlist 0 in 0 out 0 scratch 0\nend\n"), "proven");
}

// form

TEST(CheckerForm, RefusesAProblemThatMakesNoSense) {
    Problem problem;
    problem.ranks = 0;
    EXPECT_THROW(check(problem, {}), Error);
}

TEST(CheckerForm, WantsOneListForEachRank) {
    ListSet set = parse(barrier_of_2);
    set.lists.pop_back();
    EXPECT_EQ(verdict(set), "form: rank 0: 2 ranks need as many lists, not 1");
    set = parse(barrier_of_2);
    std::swap(set.lists[0], set.lists[1]);
    EXPECT_EQ(verdict(set), "form: rank 0: its list is that of rank 1");
}

TEST(CheckerForm, WantsTheSizesOfTheProblem) {
    ListSet set = parse(gather_of_4);
    set.lists[2].in_bytes = 8;
    EXPECT_EQ(verdict(set), "form: rank 2: in has 8 bytes in its list, 4 in the problem");
}

TEST(CheckerForm, WantsSpansInsideTheirSpaceAndPeersThatExist) {
    ListSet set = parse(gather_of_4);
    set.lists[1].tasks[0].source.length = 5;
    EXPECT_EQ(verdict(set),
              "form: rank 1, task 0 (send 0 in[0+5]): in[0+5] is not inside in, which has 4 bytes");
    set.lists[1].tasks[0].source = in(~std::uint64_t{0}, 4);  // its end wraps around
    EXPECT_THAT(verdict(set), HasSubstr("is not inside in"));
    set = parse(gather_of_4);
    set.lists[1].tasks[0].peer = 4;
    EXPECT_EQ(verdict(set), "form: rank 1, task 0 (send 4 in[0+4]): there is no rank 4");
    set.lists[1].tasks[0].peer = 1;
    EXPECT_THAT(verdict(set), HasSubstr("a rank must not be its own peer"));
}

TEST(CheckerForm, RefusesEnableTasks) {
    ListSet set = parse(barrier_of_2);
    set.lists[0].tasks[0].kind = Kind::enable_send;
    EXPECT_THAT(verdict(set), HasSubstr("only lowering makes enable tasks"));
}

TEST(CheckerForm, RefusesToWriteIn) {
    EXPECT_EQ(verdict(with(alltoall_of_3, "recv 1 out[4+4]", "recv 1 in[4+4]")),
              "form: rank 0, task 0 (recv 1 in[4+4]): in is only read");
}

TEST(CheckerForm, RefusesCopiesThatOverlapOrDifferInLength) {
    EXPECT_THAT(verdict(with(alltoall_of_3, "copy out[0+4] in[0+4]", "copy out[0+4] out[2+4]")),
                HasSubstr("target and source overlap"));
    EXPECT_THAT(verdict(with(alltoall_of_3, "copy out[0+4] in[0+4]", "copy out[0+4] in[0+3]")),
                HasSubstr("target and source differ in length"));
}

TEST(CheckerForm, RefusesReductionsThatAreNotTheProblems) {
    const std::string right = "reduce sum uint32 out[0+8] scratch[0+8]";
    EXPECT_THAT(verdict(with(allreduce_of_3, right, "reduce maximum uint32 out[0+8] scratch[0+8]")),
                HasSubstr("the problem reduces by sum of uint32"));
    EXPECT_THAT(verdict(with(allreduce_of_3, right, "reduce sum uint32 out[0+6] scratch[0+6]")),
                HasSubstr("6 bytes are not whole elements of uint32"));
    EXPECT_THAT(verdict(with(alltoall_of_3, "copy out[0+4] in[0+4]", "reduce sum uint32 out[0+4] in[0+4]")),
                HasSubstr("alltoall does not reduce"));
}

// matching

TEST(CheckerMatching, MissingReceive) {
    EXPECT_EQ(
        verdict(with(gather_of_4, "  recv 1 out[4+4]\n", "")),
        "matching: rank 1, task 0 (send 0 in[0+4]): no receive of rank 0 matches it: rank 1 sends once, "
        "and the peer receives 0 times");
}

TEST(CheckerMatching, MissingSend) {
    EXPECT_EQ(verdict(with(gather_of_4, "  send 0 in[0+4]\n", "")),
              "matching: rank 0, task 0 (recv 1 out[4+4]): no send of rank 1 matches it: the peer sends 0 "
              "times, and rank 0 receives once");
}

TEST(CheckerMatching, LengthThatDiffers) {
    EXPECT_EQ(
        verdict(with(gather_of_4, "recv 1 out[4+4]", "recv 1 out[4+3]")),
        "matching: rank 0, task 0 (recv 1 out[4+3]): the matching send, task 0 (send 0 in[0+4]) of rank "
        "1, has 4 bytes, not 3");
}

TEST(CheckerMatching, WaitBeforeItsReceiveIsPosted) {
    EXPECT_EQ(
        verdict(with(barrier_of_2, "  recv 1\n  send 1\n  wait 1 1\n", "  send 1\n  wait 1 1\n  recv 1\n")),
        "matching: rank 0, task 1 (wait 1 1): it counts more receives from rank 1 than are posted before it "
        "and have no wait yet (0)");
}

TEST(CheckerMatching, WaitForMoreThanIsReceived) {
    EXPECT_EQ(verdict(with(barrier_of_2, "wait 1 1", "wait 1 18446744073709551615")),
              "matching: rank 0, task 2 (wait 1 18446744073709551615): it counts more receives from rank 1 "
              "than are posted before it and have no wait yet (1)");
}

TEST(CheckerMatching, ReceiveThatNoWaitCounts) {
    EXPECT_EQ(verdict(with(allreduce_of_3, "wait 2 2", "wait 2 1")),
              "matching: rank 0, task 2 (recv 2 scratch[12+4]): no wait counts this receive");
}

// deadlock

TEST(CheckerDeadlock, SwappedWaits) {
    const std::string text = with(with(barrier_of_2, "  send 1\n  wait 1 1\n", "  wait 1 1\n  send 1\n"),
                                  "  send 0\n  wait 0 1\n", "  wait 0 1\n  send 0\n");
    EXPECT_EQ(
        verdict(text),
        "deadlock: rank 0, task 1 (wait 1 1): rank 0 waits in task 1 (wait 1 1) for rank 1, which waits in "
        "task 1 (wait 0 1) for rank 0");
}

TEST(CheckerDeadlock, OnlyWhenSendsAreNotBuffered) {
    const std::string text = with(with(barrier_of_2, "  recv 1\n  send 1\n", "  send 1\n  recv 1\n"),
                                  "  recv 0\n  send 0\n", "  send 0\n  recv 0\n");
    EXPECT_EQ(
        verdict(text),
        "deadlock: rank 0, task 0 (send 1): when sends are not buffered, rank 0 waits in task 0 (send 1) for "
        "the receive of rank 1, which waits in task 0 (send 0) for the receive of rank 0");
}

TEST(CheckerDeadlock, UnbufferedSendsOfOneSideOnlyAreNoDeadlock) {
    EXPECT_EQ(verdict(with(barrier_of_2, "  recv 1\n  send 1\n", "  send 1\n  recv 1\n")), "proven");
}

// A ring in which everyone waits for its left neighbour before it sends to its right one.
std::string ring(int ranks) {
    std::string text = "problem barrier ranks " + std::to_string(ranks) + "\n";
    for (int rank = 0; rank < ranks; ++rank) {
        const std::string left = std::to_string((rank + ranks - 1) % ranks);
        const std::string right = std::to_string((rank + 1) % ranks);
        text += "list " + std::to_string(rank) + " in 0 out 0 scratch 0\nrecv " + left + "\nwait " + left +
                " 1\nsend " + right + "\nend\n";
    }
    return text;
}

TEST(CheckerDeadlock, ShowsTheWholeCircleAndCutsALongOne) {
    EXPECT_EQ(
        verdict(ring(3)),
        "deadlock: rank 0, task 1 (wait 2 1): rank 0 waits in task 1 (wait 2 1) for rank 2, which waits in "
        "task 1 (wait 1 1) for rank 1, which waits in task 1 (wait 0 1) for rank 0");
    EXPECT_THAT(verdict(ring(100)), HasSubstr("for rank 93, and so on through 93 more ranks back to rank 0"));
}

TEST(CheckerDeadlock, ShowsTheShortestCircle) {
    // Ranks 0, 1 and 2 wait in a circle, and so do 3 and 4, who are in no one's way.
    const std::string text = with(ring(3), "ranks 3", "ranks 5") +
                             "list 3 in 0 out 0 scratch 0\nrecv 4\nwait 4 1\nsend 4\nend\n"
                             "list 4 in 0 out 0 scratch 0\nrecv 3\nwait 3 1\nsend 3\nend\n";
    EXPECT_THAT(verdict(text),
                HasSubstr("rank 3 waits in task 1 (wait 4 1) for rank 4, which waits in task 1"));
}

// queue_depth

TEST(CheckerQueueDepth, ListOverTheQueuesDepth) {
    CheckLimits limits;
    limits.queue_depth = 4;
    EXPECT_EQ(verdict(barrier_of_4, limits), "proven");
    limits.queue_depth = 3;
    EXPECT_EQ(verdict(barrier_of_4, limits),
              "queue_depth: rank 0: its management queue has 4 tasks, the engine's holds 3");
}

TEST(CheckerQueueDepth, IsTriedOnListsThatBreakAnotherRule) {
    CheckLimits limits;
    limits.queue_depth = 3;
    const ListSet set =
        parse(with(barrier_of_4, "  send 1\n  wait 1 1\n  send 2\n", "  send 1\n  send 2\n  wait 1 1\n"));
    const std::vector<Violation> violations = check(set.problem, set.lists, limits);
    ASSERT_GT(violations.size(), 1U);
    EXPECT_EQ(violations.front().rule, Rule::provenance);
    EXPECT_EQ(violations.back().rule, Rule::queue_depth);
}

TEST(Checker, StopsAfterAsManyViolationsAsAsked) {
    ListSet set = parse(alltoall_of_3);
    for (List& list : set.lists) list.tasks.clear();
    EXPECT_EQ(check(set.problem, set.lists).size(), 3U);
    CheckLimits limits;
    limits.violations = 2;
    EXPECT_EQ(check(set.problem, set.lists, limits).size(), 2U);
    limits.violations = 0;  // still tells that there is one
    EXPECT_EQ(check(set.problem, set.lists, limits).size(), 1U);
}

}  // namespace
}  // namespace lapwing
