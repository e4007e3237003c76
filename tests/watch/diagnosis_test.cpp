// The findings for each kind of hang, word for word, from snapshots made by hand.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "watch/hand_made.hpp"

namespace lapwing {
namespace {

using namespace testing_watch;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using watch::Finding;
using Kind = watch::Finding::Kind;

const CollectiveCall broadcast = make_call(Collective::broadcast, "a.c:10");
const CollectiveCall allreduce = make_call(Collective::allreduce, "solver.c:88", 800);
const CollectiveCall barrier = make_call(Collective::barrier, "b.c:20");

TEST(Hangs, EndlessLoopOfSeveralRanksIsOneFinding) {
    HandMadeJob job(8);
    for (const int rank : {0, 1, 2, 3}) job.enter(rank, 0, allreduce);
    for (const int rank : {4, 5, 6, 7}) job.last(rank, "MPI_Comm_rank", "main.c:5", (50 + rank) * second);
    EXPECT_EQ(
        job.finding().sentence,
        "ranks 4-7 have not called MPI_Allreduce (MPI_DOUBLE, MPI_SUM, 800 bytes) on MPI_COMM_WORLD (call "
        "1, solver.c:88), in which 4 ranks have waited for 41 s; they last called MPI_Comm_rank at "
        "main.c:5, 54 s ago, and have not called MPI since");
}

TEST(Hangs, SwappedOrder) {
    HandMadeJob job(4);
    for (const int rank : {0, 1, 2}) {
        job.call(rank, 0, broadcast);
        job.start_and_wait(rank, 0, barrier, "a.c:12");
    }
    job.call(3, 0, barrier);
    job.start_and_wait(3, 0, broadcast, "a.c:12");
    const Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::mismatch);
    EXPECT_THAT(finding.ranks, ElementsAre(3));
    EXPECT_EQ(
        finding.sentence,
        "ranks 0-2 called MPI_Ibcast (root 0, 8 bytes) at a.c:10 as call 1 on MPI_COMM_WORLD; rank 3 called "
        "MPI_Ibarrier at b.c:20: the collectives differ; the two calls have different orders");
}

TEST(Hangs, RankThatLeftOutACall) {
    HandMadeJob job(3);
    for (const int rank : {0, 1}) {
        job.completed(rank, 0, broadcast);
        job.enter(rank, 0, barrier);
    }
    job.enter(2, 0, barrier);
    for (const int rank : {0, 1}) {
        job.of(rank, 0).recent.front() = blocking(broadcast);
        job.of(rank, 0).recent.front().number = 1;
    }
    const Finding finding = job.finding();
    EXPECT_THAT(finding.ranks, ElementsAre(2));
    EXPECT_THAT(finding.sentence, HasSubstr("ranks 0-1 called it next, so rank 2 may have left out a call"));
}

TEST(Hangs, WrongCount) {
    HandMadeJob job(2);
    job.enter(0, 0, allreduce);
    job.enter(1, 0, make_call(Collective::allreduce, "solver.c:90", 400));
    const Finding finding = job.finding();
    // Of two ranks, neither is the wrong one.
    EXPECT_THAT(finding.ranks, ElementsAre(0, 1));
    EXPECT_THAT(finding.sentence, HasSubstr("the lengths differ"));
}

TEST(Hangs, BlocksThatDiffer) {
    HandMadeJob job(4);
    for (int rank = 0; rank < 4; ++rank) {
        CollectiveCall call = make_call(Collective::alltoallv, "a.c:10");
        call.arguments.sent.assign(4, rank == 2 ? 0 : 8);
        call.arguments.received.assign(4, 8);
        call.arguments.sent[static_cast<std::size_t>(rank)] = 0;
        call.arguments.received[static_cast<std::size_t>(rank)] = 0;
        job.start_and_wait(rank, 0, call, "a.c:11");
    }
    const Finding finding = job.finding();
    EXPECT_THAT(finding.ranks, ElementsAre(2));
    EXPECT_EQ(
        finding.sentence,
        "rank 2 sends 0 bytes to rank 0 in MPI_Ialltoallv at a.c:10 (call 1 on MPI_COMM_WORLD), but rank 0 "
        "receives 8 bytes from rank 2 at a.c:10: the counts differ; rank 2 disagrees about 3 transfers");
}

TEST(Hangs, WrongCommunicator) {
    HandMadeJob job(4);
    const int grid = job.communicator("grid", {0, 1, 2, 3});
    for (const int rank : {0, 1, 2}) job.enter(rank, 0, allreduce);
    job.enter(3, grid, allreduce);
    const Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::cycle);
    EXPECT_THAT(finding.ranks, ElementsAre(0, 3));
    EXPECT_EQ(
        finding.sentence,
        "rank 0 waits in MPI_Allreduce on MPI_COMM_WORLD (call 1) at solver.c:88 for rank 3, which waits in "
        "MPI_Allreduce on grid (call 1) at solver.c:88 for rank 0; the calls differ only in the "
        "communicator");
}

TEST(Hangs, CycleAcrossCommunicators) {
    HandMadeJob job(6);
    const int a = job.communicator("A", {0, 1});
    const int b = job.communicator("B", {1, 2});
    const int c = job.communicator("C", {2, 0});
    job.enter(0, a, allreduce);
    job.enter(1, b, allreduce);
    job.enter(2, c, barrier);
    for (const int rank : {3, 4, 5}) job.enter(rank, 0, barrier);
    // Ranks 3 to 5 wait only because ranks 0 to 2 do.
    EXPECT_EQ(
        job.finding().sentence,
        "rank 0 waits in MPI_Allreduce on A (call 1) at solver.c:88 for rank 1, which waits in MPI_Allreduce "
        "on B (call 1) at solver.c:88 for rank 2, which waits in MPI_Barrier on C (call 1) at b.c:20 for "
        "rank 0");
}

TEST(Hangs, TheShortestCycleIsNamed) {
    HandMadeJob job(6);
    const int pair = job.communicator("pair", {4, 5});
    // Rank 0 waits for 1 to 5, 1 to 3 wait for each other in a long cycle, 4 and 5 in a short one.
    for (const int rank : {1, 2, 3}) {
        const int long_one = job.communicator("long" + std::to_string(rank), {rank, rank % 3 + 1});
        job.enter(rank, long_one, allreduce);
    }
    job.enter(0, 0, barrier);
    job.enter(4, pair, allreduce);
    job.message(5, "MPI_Recv", 0, 4, 7, "io.c:7");
    const auto findings = job.diagnose();
    ASSERT_THAT(findings, SizeIs(2));
    std::vector<std::vector<int>> cycles{findings[0].ranks, findings[1].ranks};
    EXPECT_THAT(cycles, testing::UnorderedElementsAre(ElementsAre(4, 5), ElementsAre(1, 2, 3)));
}

TEST(Hangs, Sleep) {
    HandMadeJob job(3);
    job.start_and_wait(0, 0, broadcast, "a.c:12");
    job.call(1, 0, broadcast);
    job.last(1, "MPI_Ibcast", "a.c:10");
    job.last(2, "MPI_Init", "");
    const Finding finding = job.finding();  // rank 1 has called the collective, and is not to blame
    EXPECT_THAT(finding.ranks, ElementsAre(2));
    EXPECT_THAT(finding.sentence, HasSubstr("it last called MPI_Init, 42 s ago"));
}

TEST(Hangs, StoppedRank) {
    HandMadeJob job(3);
    for (const int rank : {0, 1}) job.enter(rank, 0, barrier);
    job.silence(2, "rank 2 (node1, pid 4711) is stopped by a signal");
    const Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::silent);
    EXPECT_EQ(finding.age, 41 * second);
    EXPECT_EQ(finding.sentence,
              "rank 2 (node1, pid 4711) is stopped by a signal; 2 ranks wait for it, for 41 s");
}

TEST(Hangs, ManySilentRanksAreOneFinding) {
    HandMadeJob job(12);
    for (const int rank : {0, 1, 2}) job.enter(rank, 0, barrier);
    for (int rank = 3; rank < 12; ++rank) job.silence(rank, "rank " + std::to_string(rank) + " is blocked");
    const Finding finding = job.finding();
    EXPECT_EQ(finding.age, 41 * second);
    EXPECT_EQ(finding.sentence, "ranks 3-11 do not answer; the first: rank 3 is blocked");
}

TEST(Hangs, ReceiveWithoutASender) {
    HandMadeJob job(4);
    for (const int rank : {0, 1, 2}) job.start_and_wait(rank, 0, broadcast, "a.c:12");
    job.message(3, "MPI_Recv", 0, 2, 5, "io.c:7");
    const Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::cycle);
    EXPECT_EQ(
        finding.sentence,
        "rank 2 waits in MPI_Wait at a.c:12 for MPI_Ibcast on MPI_COMM_WORLD (call 1, a.c:10) for rank 3, "
        "which waits in MPI_Recv from rank 2, tag 5, at io.c:7 for rank 2");
}

TEST(Hangs, FenceThatARankHasNotCalled) {
    HandMadeJob job(3);
    for (const int rank : {0, 1}) job.inside(rank, "MPI_Win_fence", "w.c:4", 0);
    job.last(2, "MPI_Put", "w.c:3");
    EXPECT_EQ(
        job.finding().sentence,
        "rank 2 (node1) has not called MPI_Win_fence on MPI_COMM_WORLD, in which 2 ranks have waited for "
        "41 s; it last called MPI_Put at w.c:3, 42 s ago, and has not called MPI since");
}

TEST(Hangs, BarrierWhileARankProbesAgainAndAgain) {
    HandMadeJob job(3);
    for (const int rank : {0, 1}) job.enter(rank, 0, barrier);
    job.last(2, "MPI_Iprobe", "p.c:8", 0);
    EXPECT_THAT(job.finding().sentence, EndsWith("; it calls MPI_Iprobe at p.c:8 again and again"));
    job.message(2, "MPI_Iprobe", 0, 1, 5, "p.c:8", 0);
    EXPECT_THAT(job.finding().sentence,
                EndsWith("; it calls MPI_Iprobe from rank 1, tag 5, at p.c:8 again and again"));
    job.leave(2);
    job.last(2, "MPI_Iprobe", "p.c:8", 2 * second);
    EXPECT_THAT(job.finding().sentence,
                EndsWith("; it last called MPI_Iprobe at p.c:8, 2 s ago, and has not called MPI since"));
}

TEST(Hangs, ReceiveFromARankThatComputes) {
    HandMadeJob job(4);
    for (const int rank : {0, 1}) job.enter(rank, 0, barrier);
    job.message(2, "MPI_Recv", 0, 3, 5, "io.c:7");
    job.last(3, "MPI_Send", "io.c:9", 7 * second);
    const auto findings = job.diagnose();
    ASSERT_THAT(findings, SizeIs(2));
    EXPECT_EQ(findings[1].kind, Kind::native_call);
    EXPECT_THAT(findings[1].ranks, ElementsAre(3));
    EXPECT_EQ(
        findings[1].sentence,
        "rank 2 (node1) has waited in MPI_Recv from rank 3, tag 5, at io.c:7 for 41 s; rank 3 (node1) last "
        "called MPI_Send at io.c:9, 7 s ago, and has not called MPI since");
    EXPECT_THAT(findings[0].ranks,
                ElementsAre(3));  // of ranks 2 and 3, which lack the barrier, 2 waits for 3
}

TEST(Hangs, TwoSendsFacingEachOther) {
    HandMadeJob job(2);
    job.message(0, "MPI_Send", 0, 1, 5, "io.c:7");
    job.message(1, "MPI_Send", 0, 0, 5, "io.c:7");
    EXPECT_EQ(
        job.finding().sentence,
        "rank 0 waits in MPI_Send to rank 1, tag 5, at io.c:7 for rank 1, which waits in MPI_Send to rank 0, "
        "tag 5, at io.c:7 for rank 0");
}

TEST(Hangs, AMessageOnItsWayIsNoCycle) {
    HandMadeJob job(2);
    job.message(0, "MPI_Ssend", 0, 1, 5, "io.c:7");
    job.message(1, "MPI_Recv", 0, 0, 5, "io.c:8");
    EXPECT_THAT(job.diagnose(), IsEmpty());
    HandMadeJob other(2);
    other.message(0, "MPI_Recv", 0, 1, 5, "io.c:7", second / 2);
    other.message(1, "MPI_Recv", 0, 0, 6, "io.c:8", second / 2);
    EXPECT_THAT(other.diagnose(), IsEmpty());
    HandMadeJob with_other_tags(2);
    with_other_tags.message(0, "MPI_Ssend", 0, 1, 5, "io.c:7");
    with_other_tags.message(1, "MPI_Recv", 0, 0, 6, "io.c:8");
    EXPECT_EQ(with_other_tags.finding().kind, Kind::cycle);
}

TEST(Hangs, ReceiveFromAnyRankWhileAllOthersWait) {
    HandMadeJob job(3);
    for (const int rank : {0, 1}) job.enter(rank, 0, barrier);
    job.message(2, "MPI_Recv", 0, -2, 5, "io.c:7");
    const Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::cycle);
    EXPECT_THAT(finding.sentence, HasSubstr("MPI_Recv from any rank, tag 5, at io.c:7"));
    // A rank that computes may still send.
    HandMadeJob other(3);
    other.enter(0, 0, barrier);
    other.message(2, "MPI_Recv", 0, -2, 5, "io.c:7");
    other.last(1, "MPI_Init", "");
    for (const Finding& one : other.diagnose()) EXPECT_NE(one.kind, Kind::cycle);
}

TEST(Hangs, RanksInMpiFinalize) {
    HandMadeJob job(3);
    for (const int rank : {0, 1}) job.inside(rank, "MPI_Finalize", "main.c:99");
    job.last(2, "MPI_Barrier", "main.c:90");
    EXPECT_THAT(
        job.finding().sentence,
        HasSubstr("rank 2 (node1) has not called MPI_Finalize, in which 2 ranks have waited for 41 s"));
    // A rank that never gets its message, because the sender ends.
    HandMadeJob other(2);
    other.inside(0, "MPI_Finalize", "main.c:99");
    other.message(1, "MPI_Recv", 0, 0, 5, "io.c:7");
    const auto cycle = other.diagnose();
    ASSERT_THAT(cycle, SizeIs(1));
    EXPECT_THAT(cycle[0].sentence, HasSubstr("rank 0 waits in MPI_Finalize at main.c:99 for rank 1"));
}

TEST(Hangs, CollectiveThatTheProgramMustAdvance) {
    HandMadeJob job(2);
    job.start_and_wait(0, 0, broadcast, "a.c:12");
    job.call(1, 0, broadcast);
    job.of(1, 0).recent.back().position = watch::Position{"host", 1, 3, {}};
    job.last(1, "MPI_Ibcast", "a.c:10");
    Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::idle);
    EXPECT_EQ(
        finding.sentence,
        "rank 1 (node0) has called MPI_Ibcast on MPI_COMM_WORLD (call 1, a.c:10), in which rank 0 has waited "
        "for 41 s, but does not advance it: the host engine advances only inside MPI calls; it last called "
        "MPI_Ibcast at a.c:10, 42 s ago, and has not called MPI since");
    job.of(1, 0).recent.back().position.engine = "kernel";
    job.of(0, 0).recent.back().position = watch::Position{"kernel", 1, 3, {1}};
    finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::unfinished);
    EXPECT_EQ(
        finding.sentence,
        "all ranks have called MPI_Ibcast (root 0, 8 bytes) on MPI_COMM_WORLD (call 1, a.c:10), and rank 0 "
        "has waited for its completion for 41 s; on rank 0, the engine kernel is at task 1 of 3 and awaits "
        "rank 1");
}

TEST(Hangs, AwaitedRanksAreKnownFromTheList) {
    // Rank 0's list needs rank 1 next, and rank 1 waits for rank 0. Rank 2 is missing, too, but computes.
    HandMadeJob job(3);
    const int pair = job.communicator("pair", {0, 1});
    job.start_and_wait(0, 0, broadcast, "a.c:12");
    job.of(0, 0).recent.back().position = watch::Position{"kernel", 1, 3, {1}};
    job.enter(1, pair, barrier);
    job.last(2, "MPI_Init", "");
    const auto findings = job.diagnose();
    ASSERT_THAT(findings, SizeIs(2));
    EXPECT_EQ(findings[0].kind, Kind::cycle);
    EXPECT_THAT(findings[0].ranks, ElementsAre(0, 1));
    EXPECT_THAT(findings[1].ranks, ElementsAre(2));
}

TEST(Hangs, PollingIsWaiting) {
    HandMadeJob job(2);
    const std::uint64_t number = job.call(0, 0, barrier);
    job.last(0, "MPI_Test", "a.c:12", second / 1000);
    job.rank(0).last.communicator = 0;
    job.rank(0).last.waits_for = {number};
    job.last(1, "MPI_Init", "");
    const Finding finding = job.finding();
    EXPECT_THAT(finding.ranks, ElementsAre(1));
    EXPECT_EQ(finding.age, 41 * second);
}

TEST(NoHang, RootOfABroadcastLeavesEarly) {
    HandMadeJob job(4);
    job.completed(0, 0, broadcast);
    job.last(0, "MPI_Ibcast", "a.c:10");
    // Another rank waits for the root's message, which is on its way, and the last rank for that one.
    const int pair = job.communicator("pair", {1, 3});
    job.start_and_wait(1, 0, broadcast, "a.c:12", second / 10);
    job.enter(3, pair, barrier, second / 10);
    for (const Finding& finding : job.diagnose()) EXPECT_NE(finding.kind, Kind::cycle) << finding.sentence;
}

TEST(NoHang, CommunicatorThatARankHasFreed) {
    HandMadeJob job(3);
    const int some = job.communicator("some", {0, 1, 2});
    for (const int rank : {0, 1}) job.start_and_wait(rank, some, broadcast, "a.c:12");
    job.rank(2).communicators.pop_back();
    job.last(2, "MPI_Comm_free", "a.c:14");
    for (const Finding& finding : job.diagnose()) EXPECT_NE(finding.kind, Kind::missing) << finding.sentence;
}

TEST(Mismatches, EarlierThanTheRecordedCalls) {
    HandMadeJob job(4);
    for (int rank = 0; rank < 4; ++rank) {
        job.completed(rank, 0, rank == 2 ? make_call(Collective::broadcast, "a.c:10", 16) : broadcast);
        for (int i = 0; i < 16; ++i) job.completed(rank, 0, allreduce);
    }
    const Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::mismatch);
    EXPECT_THAT(finding.ranks, ElementsAre(2));
    EXPECT_EQ(
        finding.sentence,
        "ranks 0-1, 3 and rank 2 made different calls on MPI_COMM_WORLD, among the first 17 calls: the calls "
        "themselves are no longer recorded");
}

TEST(Mismatches, ConsequencesAreNoFindings) {
    // The broadcast differs on rank 0; ranks that wait in the later barrier for rank 1 are no news.
    HandMadeJob job(4);
    for (const int rank : {1, 2, 3}) job.call(rank, 0, broadcast);
    for (const int rank : {2, 3}) job.enter(rank, 0, barrier);
    job.inside(1, "MPI_Wait", "a.c:12", 0).waits_for = {1};
    job.enter(0, 0, make_call(Collective::broadcast, "c.c:1"));
    EXPECT_THAT(job.finding().sentence, HasSubstr("rank 0 called MPI_Bcast (root 0, 8 bytes) at c.c:1"));
}

TEST(Mismatches, LargeCountsMatchOrdinaryOnes) {
    HandMadeJob job(2);
    job.call(0, 0, broadcast);
    CollectiveCall large = broadcast;
    large.function = "MPI_Ibcast_c";
    job.call(1, 0, large);
    EXPECT_THAT(job.diagnose(), IsEmpty());
}

constexpr const char* report =
    R"(- rank 3 (node1) has not called MPI_Ibcast (root 0, 8 bytes) on MPI_COMM_WORLD (call 17, a.c:10), in which 3 ranks have waited for 41 s; it last called MPI_Iallreduce at solver.c:88, 42 s ago, and has not called MPI since

Collectives in flight
  MPI_COMM_WORLD (ranks 0-3)
    call 17: MPI_Ibcast (root 0, 8 bytes) at a.c:10, for 41 s
      in flight:   0-2
      waiting:     0-2
      not called:  3

Ranks
  ranks 0-1 (node0): each waits in MPI_Wait at a.c:12 for MPI_Ibcast on MPI_COMM_WORLD (call 17, a.c:10), for 41 s
  rank 2 (node1): waits in MPI_Wait at a.c:12 for MPI_Ibcast on MPI_COMM_WORLD (call 17, a.c:10), for 41 s
  rank 3 (node1): is outside MPI; its last call was MPI_Iallreduce at solver.c:88, 42 s ago
)";

TEST(Text, NamesTheFindingsThenTheCommunicatorsThenTheRanks) {
    HandMadeJob job(4);
    for (int i = 0; i < 16; ++i)
        for (int rank = 0; rank < 4; ++rank) job.completed(rank, 0, allreduce);
    for (const int rank : {0, 1, 2}) job.start_and_wait(rank, 0, broadcast, "a.c:12");
    job.last(3, "MPI_Iallreduce", "solver.c:88");
    const Finding finding = job.finding();
    EXPECT_EQ(finding.kind, Kind::missing);
    EXPECT_THAT(finding.ranks, ElementsAre(3));
    EXPECT_EQ(finding.age, 41 * second);
    EXPECT_EQ(watch::in_words(job.answers(), job.diagnose()), report);
}

TEST(Text, LongRunsOfEqualRanksTakeOneLine) {
    HandMadeJob job(4096);
    for (int rank = 0; rank < 4095; ++rank) {
        job.rank(rank).host = "node0";
        job.enter(rank, 0, barrier, static_cast<std::uint64_t>(rank) * second / 100);
    }
    job.last(4095, "MPI_Init", "");
    const std::string text = watch::in_words(job.answers(), job.diagnose());
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 16) << text;
    EXPECT_THAT(
        text,
        HasSubstr("ranks 0-4094 (node0): each waits in MPI_Barrier on MPI_COMM_WORLD (call 1) at b.c:20, "
                  "for less than 1 ms to 40 s"));
}

TEST(Text, Json) {
    HandMadeJob job(3);
    job.start_and_wait(0, 0, broadcast, "a.c:12");
    job.last(1, "MPI_Init", "");
    job.silence(2, "rank 2 (node1) is stopped");
    const auto json = nlohmann::json::parse(watch::as_json(job.answers(), job.diagnose()));
    ASSERT_EQ(json["findings"].size(), 2U);
    EXPECT_EQ(json["findings"][0]["kind"], "silent");
    EXPECT_EQ(json["findings"][1]["ranks"], nlohmann::json::array({1}));
    EXPECT_EQ(json["findings"][1]["age_seconds"], 41.0);
    const auto& call = json["communicators"][0]["collectives"][0];
    EXPECT_EQ(call["number"], 1);
    EXPECT_EQ(call["function"], "MPI_Ibcast");
    EXPECT_EQ(call["not_called"], nlohmann::json::array({1}));
    EXPECT_EQ(json["ranks"][0]["inside"][0]["waits_for"], nlohmann::json::array({1}));
    EXPECT_EQ(json["ranks"][1]["last"]["function"], "MPI_Init");
    EXPECT_EQ(json["ranks"][2]["silence"], "rank 2 (node1) is stopped");
}

TEST(Text, RangesOfRanks) {
    EXPECT_EQ(watch::ranges(std::vector{0, 1, 2, 7}), "0-2, 7");
    EXPECT_EQ(watch::ranges(std::vector{5}), "5");
    std::vector<int> even(100);
    for (int i = 0; i < 100; ++i) even[static_cast<std::size_t>(i)] = 2 * i;
    EXPECT_EQ(watch::ranges(even), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ... (100 in all)");
    EXPECT_EQ(watch::duration(41 * second), "41 s");
    EXPECT_EQ(watch::duration(125 * second), "2 min 5 s");
}

}  // namespace
}  // namespace lapwing
