// Recorded programs: recordings written by hand, as scripts; and the time that these take, by hand.
#include "simulate/recorded/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "cases.hpp"
#include "recording/recording.hpp"
#include "support/errors.hpp"

namespace lapwing::simulate {
namespace {

using recording::any_rank;
using recording::Call;
using recording::Recording;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;

// One rank of a recording, call by call. Times are nanoseconds.
class RecordedRank {
  public:
    RecordedRank(int rank, int ranks) {
        rank_.rank = rank;
        rank_.host = "host" + std::to_string(rank);
        rank_.ended = true;
        rank_.threads.resize(1);
        std::vector<int> world;
        for (int member = 0; member < ranks; ++member) world.push_back(member);
        communicator(std::move(world));
    }

    // Returns its number.
    std::uint32_t communicator(std::vector<int> members, std::uint64_t ordinal = 0) {
        recording::Communicator one;
        one.members = std::move(members);
        one.ordinal = ordinal;
        const auto number = static_cast<std::uint32_t>(rank_.communicators.size()) + 1;
        rank_.communicators[number] = std::move(one);
        return number;
    }
    std::uint32_t counts(std::vector<std::uint64_t> bytes) {
        recording::Counts one;
        one.all = std::move(bytes);
        for (const std::uint64_t each : one.all) one.sum += each;
        const auto number = static_cast<std::uint32_t>(rank_.counts.size()) + 1;
        rank_.counts[number] = std::move(one);
        return number;
    }

    // Computes for `work`, or for each of its values in turn, then calls `function`.
    RecordedRank& call(const std::string& function, std::vector<std::uint64_t> work,
                       recording::Call call = {}, std::uint64_t inside = 0, std::uint64_t polls = 0) {
        const auto [found, fresh] =
            sites_.try_emplace(function, static_cast<std::uint32_t>(sites_.size()) + 1);
        if (fresh) rank_.sites[found->second] = {function, "program", 0, ""};
        call.site = found->second;
        if (call.communicator == 0) call.communicator = 1;
        recording::Thread& thread = rank_.threads.front();
        recording::Node node;
        node.call = static_cast<std::uint32_t>(thread.calls.size());
        thread.calls.push_back(std::move(call));
        for (const std::uint64_t one : work) {
            recording::Times times;
            times.add(recording::Time{.processor = one, .wall = one, .inside = inside, .polls = polls});
            node.times.add(times);
        }
        sequence().push_back(std::move(node));
        return *this;
    }
    // Calls from here to end() are made so many times.
    RecordedRank& loop(std::uint64_t repeats) {
        open_.emplace_back().passes.add(repeats);
        return *this;
    }
    RecordedRank& end() {
        recording::Node loop = std::move(open_.back());
        open_.pop_back();
        sequence().push_back(std::move(loop));
        return *this;
    }
    recording::Rank finish(std::uint64_t work = 0) {
        call("MPI_Finalize", {work});
        return rank_;
    }

  private:
    std::vector<recording::Node>& sequence() {
        return open_.empty() ? rank_.threads.front().sequence : open_.back().body;
    }

    recording::Rank rank_;
    std::map<std::string, std::uint32_t> sites_;
    std::vector<recording::Node> open_;
};

Recording recording_of(std::vector<recording::Rank> ranks) {
    const auto count = static_cast<int>(ranks.size());
    return {count, "", "", std::move(ranks)};
}

// A recording of ranks whose calls are those that `fill` adds, with `work` at the end.
template <typename Fill>
Recording recording_of(int ranks, Fill fill, std::uint64_t work = 0) {
    std::vector<recording::Rank> all;
    for (int rank = 0; rank < ranks; ++rank) {
        RecordedRank one(rank, ranks);
        fill(one, rank);
        all.push_back(one.finish(work));
    }
    return recording_of(std::move(all));
}

// Messages take 100 + 1000 + 100 ns, and 1 ns a byte. Collectives run by `algorithm`, by the native MPI or by
// `name`.
std::vector<Time> ends(const Replay& replay, const char* name = "",
                       const char* algorithm = "recursive_doubling") {
    Setting setting;
    setting.parameters = parameters(1000, 100, 1);
    setting.native = setting.parameters;
    setting.native.rendezvous_bytes = 1000;
    setting.program.scripts = &replay.scripts;
    if (*name != '\0') setting.engine = engine(name);
    std::vector<Lists> lists;
    for (const ReplayOperation& one : replay.operations) {
        lists.push_back(one.communicator < 0
                            ? make_message(one.bytes)
                            : make_lists(one.problem, parse_choice(one.problem.collective, algorithm)));
    }
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        operations.push_back({.lists = &lists[i],
                              .communicator = replay.operations[i].communicator,
                              .native = *name == '\0' || replay.operations[i].communicator < 0,
                              .synchronous = replay.operations[i].synchronous});
    }
    std::vector<Time> found = simulate(replay.ranks, operations, setting).ends;
    for (Time& end : found) end /= nanosecond;
    return found;
}
std::vector<Time> ends(const Recording& recording, const char* name = "",
                       const char* algorithm = "recursive_doubling") {
    return ends(make_replay(recording, Computation::processor), name, algorithm);
}

Call with(std::vector<std::uint32_t> requests) {
    Call call;
    call.requests = std::move(requests);
    return call;
}
Call send_to(int peer, std::uint64_t bytes, std::vector<std::uint32_t> requests = {}) {
    Call call = with(std::move(requests));
    call.sent = bytes;
    call.peer = peer;
    call.tag = 3;
    return call;
}
Call receive_from(int source, std::vector<std::uint32_t> requests = {}) {
    Call call = with(std::move(requests));
    call.received = 1 << 20;
    call.source = source;
    call.receive_tag = 3;
    return call;
}
Call wait_for(std::vector<std::uint32_t> requests) {
    Call call = with(std::move(requests));
    call.completed = static_cast<std::uint32_t>(call.requests.size());
    return call;
}
Call on(std::uint32_t communicator, std::uint64_t sent = 0) {
    Call call;
    call.communicator = communicator;
    call.sent = sent;
    return call;
}

TEST(RecordedProgram, PingPong) {
    RecordedRank ping(0, 2);
    ping.loop(3)
        .call("MPI_Send", {0, 0, 0}, send_to(1, 0))
        .call("MPI_Recv", {0, 0, 0}, receive_from(any_rank))
        .end();
    RecordedRank pong(1, 2);
    pong.loop(3)
        .call("MPI_Recv", {0, 0, 0}, receive_from(0), 700)
        .call("MPI_Send", {300, 300, 300}, send_to(0, 500))
        .end();
    const Replay replay = make_replay(recording_of({ping.finish(), pong.finish(50)}), Computation::processor);
    EXPECT_THAT(ends(replay), ElementsAre(3 * 3200, 3 * 3200 - 1600 + 50));
    // As measured: 3 receives of 700 and computation.
    EXPECT_EQ(replay.ends[1], (3 * (700 + 300) + 50) * nanosecond);
    EXPECT_EQ(replay.inside[1], 2100 * nanosecond);
    ASSERT_THAT(replay.sites, SizeIs(4));
    EXPECT_EQ(replay.sites[1].of.function, "MPI_Send");
}

TEST(RecordedProgram, ARingOfIsendAndIrecvOverlapsOnlyEagerMessages) {
    constexpr int ranks = 4;
    const auto ring = [](std::uint64_t bytes, std::uint64_t polls) {
        return recording_of(ranks, [&](RecordedRank& one, int rank) {
            one.call("MPI_Irecv", {0}, receive_from((rank + ranks - 1) % ranks, {0}))
                .call("MPI_Isend", {0}, send_to((rank + 1) % ranks, bytes, {1}))
                .call("MPI_Waitall", {5000}, wait_for({0, 1}), 0, polls);
        });
    };
    EXPECT_THAT(ends(ring(400, 0)), Each(100 + 5000 + 100));
    // By rendezvous: the request is there at 1100, answered at 5200 in the wait, there again at 6200; its
    // bytes are sent at 6300, and are there 1000 + 2000 later.
    EXPECT_THAT(ends(ring(2000, 0)), Each(6300 + 3000 + 100));
    // A test each 1000 answers at 2200 and sends from 3300 on; the bytes are there at 6400.
    const auto tested = ends(ring(2000, 4));
    EXPECT_THAT(tested, Each(testing::Lt(9400 - 2000)));
    // A thread of Lapwing does not run the program's own messages.
    EXPECT_EQ(ends(ring(2000, 0), "thread"), ends(ring(2000, 0)));
}

TEST(RecordedProgram, CollectivesOfTwoCommunicators) {
    const Recording recording = recording_of(4, [](RecordedRank& one, int rank) {
        const std::uint32_t half = one.communicator(rank < 2 ? std::vector{0, 1} : std::vector{3, 2});
        one.call("MPI_Barrier", {rank < 2 ? 0U : 700U}, on(half)).call("MPI_Barrier", {0});
    });
    EXPECT_THAT(ends(recording), ElementsAre(4300, 4300, 3600, 3600));
}

TEST(RecordedProgram, ANonblockingCollectiveNeedsCallsOrAThread) {
    const Recording recording = recording_of(4, [](RecordedRank& one, int) {
        one.call("MPI_Ibarrier", {0}, with({0})).call("MPI_Wait", {10000}, wait_for({0}));
    });
    EXPECT_THAT(ends(recording), Each(11400));
    EXPECT_THAT(ends(recording, "host"), Each(11400));
    EXPECT_THAT(ends(recording, "thread"), Each(10000));
    EXPECT_THAT(ends(recording, "kernel"), Each(10000));
}

TEST(RecordedProgram, LaterWaitsHideWhatComputationFollows) {
    const auto fill = [](RecordedRank& one, int) {
        one.call("MPI_Barrier", {1000}, on(1)).call("MPI_Barrier", {5000}, on(1));
    };
    Replay replay = make_replay(recording_of(2, fill, 400), Computation::processor);
    EXPECT_THAT(ends(replay, "card"), Each(1000 + 1200 + 5000 + 1200 + 400));
    replay.scripts = with_later_waits(replay);
    EXPECT_THAT(ends(replay, "card"), Each(1000 + 5000 + 1200));
    // The native MPI sends in the call that starts a barrier, and takes in the message in the wait.
    EXPECT_THAT(ends(replay), Each(1000 + 5000 + 200 + 100 + 1000 + 100));
}

TEST(RecordedProgram, BlocksOfDifferentLengthsComeFromAllRanks) {
    const Recording recording = recording_of(2, [](RecordedRank& one, int rank) {
        // Rank 0 sends 600 bytes, rank 1 sends 200.
        const std::uint32_t sent =
            one.counts(rank == 0 ? std::vector<std::uint64_t>{0, 600} : std::vector<std::uint64_t>{200, 0});
        Call call = on(1, rank == 0 ? 600 : 200);
        call.sent_counts = sent;
        one.call("MPI_Alltoallv", {0}, call);
    });
    EXPECT_THAT(ends(recording, "", "flat"), ElementsAre(100 + 1000 + 200 + 100, 100 + 1000 + 600 + 100));
}

TEST(RecordedProgram, ACallOfOneRankMeetsSeveralOfAnother) {
    // Requests make calls differ that are the same collective.
    RecordedRank one(0, 2);
    one.loop(3).call("MPI_Ibarrier", {0, 0, 0}, with({0})).call("MPI_Wait", {0, 0, 0}, wait_for({0})).end();
    RecordedRank other(1, 2);
    for (const std::uint32_t request : {0U, 1U, 0U}) {
        other.call("MPI_Ibarrier", {0}, with({request})).call("MPI_Wait", {0}, wait_for({request}));
    }
    EXPECT_THAT(ends(recording_of({one.finish(), other.finish()})), Each(3 * 1200));
}

TEST(RecordedProgram, NeighborsExchangeBlocks) {
    std::vector<recording::Rank> all;
    for (int rank = 0; rank < 3; ++rank) {
        RecordedRank one(rank, 3);
        const std::uint32_t ring = one.communicator({0, 1, 2}, 1);
        recording::Rank made = one.call("MPI_Neighbor_alltoall", {0}, on(ring, 300)).finish();
        made.communicators[ring].sources = {(rank + 2) % 3};
        made.communicators[ring].destinations = {(rank + 1) % 3};
        all.push_back(std::move(made));
    }
    EXPECT_THAT(ends(recording_of(std::move(all)), "", "flat"), Each(100 + 1000 + 300 + 100));
}

TEST(RecordedProgram, PersistentRequestsRunWhenTheyAreStarted) {
    RecordedRank from(0, 2);
    from.call("MPI_Send_init", {0}, send_to(1, 0, {0}))
        .loop(2)
        .call("MPI_Start", {1000, 1000}, with({0}))
        .call("MPI_Wait", {0, 0}, wait_for({0}))
        .end()
        .call("MPI_Request_free", {0}, with({0}));
    RecordedRank to(1, 2);
    to.call("MPI_Recv_init", {0}, receive_from(0, {0}))
        .loop(2)
        .call("MPI_Start", {0, 0}, with({0}))
        .call("MPI_Wait", {0, 0}, wait_for({0}))
        .end();
    EXPECT_THAT(ends(recording_of({from.finish(), to.finish()})), ElementsAre(2200, 2200 + 1100));
}

TEST(RecordedProgram, AnExchangeSendsAndReceivesAtOnce) {
    const auto rank = [](int number, const char* function) {
        Call call = send_to(1 - number, 300);
        call.source = 1 - number;
        call.receive_tag = 3;
        return RecordedRank(number, 2).call(function, {0}, call).finish();
    };
    EXPECT_THAT(ends(recording_of({rank(0, "MPI_Sendrecv"), rank(1, "MPI_Sendrecv")})), Each(1500));
}

TEST(RecordedProgram, TheSamplesOfALoopKeepItsMean) {
    RecordedRank one(0, 1);
    std::vector<std::uint64_t> work;
    for (std::uint64_t i = 0; i < 20; ++i) work.push_back(100 * i);
    one.loop(20).call("MPI_Barrier", work).end();
    const Replay replay = make_replay(recording_of({one.finish()}), Computation::processor);
    // Some of the 20 are known, and run in turn.
    const std::vector<Action>& script = replay.scripts.of_ranks[0];
    ASSERT_EQ(script.front().kind, Action::Kind::repeat);
    Time sum = 0;
    std::set<Time> works;
    for (const Action& action : script) {
        if (action.kind == Action::Kind::end) break;
        if (action.kind != Action::Kind::compute) continue;
        works.insert(action.work);
        sum += action.work;
    }
    EXPECT_GE(works.size(), 4U);
    EXPECT_EQ(script.front().times, 20 / static_cast<int>(works.size()));
    EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(works.size()) * 950 * nanosecond, 8);
}

TEST(RecordedProgram, WallTimeContainsSleep) {
    RecordedRank one(0, 1);
    one.call("MPI_Barrier", {400});
    recording::Rank rank = one.finish();
    rank.threads[0].sequence[0].times.sum.wall = 900;
    rank.threads[0].sequence[0].times.samples.clear();
    const Recording recording = recording_of({rank});
    EXPECT_THAT(ends(make_replay(recording, Computation::processor)), ElementsAre(400));
    EXPECT_THAT(ends(make_replay(recording, Computation::wall)), ElementsAre(900));
    EXPECT_THAT(make_replay(recording, Computation::wall).on_processor, ElementsAre(400 * nanosecond));
    EXPECT_THAT(make_replay(recording, Computation::wall).off_processor, ElementsAre(500 * nanosecond));
}

// A recorder that takes short computations for time on the processor may find less when it reads the clock,
// and older ones subtracted without a check.
TEST(RecordedProgram, ProcessorTimeNeverExceedsWallTime) {
    RecordedRank one(0, 1);
    one.call("MPI_Barrier", {400});
    recording::Rank rank = one.finish();
    rank.threads[0].sequence[0].times.sum.processor = std::uint64_t{0} - 70;
    rank.threads[0].sequence[0].times.samples.clear();
    EXPECT_THAT(ends(make_replay(recording_of({rank}), Computation::processor)), ElementsAre(400));
}

TEST(RecordedProgram, WhatIsNotWholeIsRefused) {
    const auto refused = [](Recording recording, const char* why) {
        EXPECT_THAT(error_of([&] { make_replay(recording, Computation::processor); }),
                    testing::HasSubstr(why));
    };
    const auto whole = [](const char* function) {
        return recording_of(
            2, [&](RecordedRank& one, int rank) { one.call(rank == 0 ? "MPI_Barrier" : function, {0}); });
    };
    refused(whole("MPI_Allreduce"), "call different collectives");
    refused(whole("MPI_Comm_dup"), "equally many collectives");
    Recording killed = whole("MPI_Barrier");
    killed.each[1].ended = false;
    refused(std::move(killed), "rank 1 has not reached MPI_Finalize");
    Recording lost = whole("MPI_Barrier");
    lost.each.pop_back();
    refused(std::move(lost), "only 1 of 2 ranks");
}

}  // namespace
}  // namespace lapwing::simulate
