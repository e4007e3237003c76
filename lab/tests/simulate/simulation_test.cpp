// Times by hand, and that nothing depends on the order of evaluation.
#include "simulate/simulation.hpp"

#include "base/error.hpp"
#include "cases.hpp"
#include "simulate/networks/networks.hpp"
#include "support/unit.hpp"
#include "task/builder.hpp"

namespace lapwing::simulate {
namespace {

using testing::Each;
using testing::ElementsAre;

// The parameters of a published simulation of this barrier, which has no messages at the same interface: it
// ends after 4 * (1500 + 2500 + 1500) ns there, too (LogGOPSim's README).
TEST(Barrier, OfSixteenRanksTakesFourMessages) {
    const Lists lists = lists_for(Collective::barrier, "dissemination", 16);
    EXPECT_THAT(ends_in_nanoseconds(lists, {.parameters = parameters(2500, 1500, 6, 1000)}), Each(22000));
}

// Rank 0 sends to rank 1, which sends back, before or after its wait.
Lists there_and_back(std::uint64_t there, std::uint64_t back, bool answers) {
    const Problem problem{.collective = Collective::broadcast, .ranks = 2, .bytes = std::max(there, back)};
    Builder first(problem, 0);
    first.recv(1, out(0, back));
    first.send(1, in(0, there));
    first.wait(1);
    Builder second(problem, 1);
    second.recv(0, out(0, there));
    if (answers) second.wait(0);
    second.send(0, in(0, back));
    if (!answers) second.wait(0);
    const List lists[] = {first.finish(), second.finish()};
    return make_lists(lists);
}

Lists ping_pong(std::uint64_t bytes) {
    return there_and_back(bytes, bytes, true);
}

TEST(TwoRanks, AMessageTakesTwoOverheadsTheLatencyAndItsBytes) {
    // 100 + 1000 + 10*2 + 100 = 1220 for each way.
    for (const char* name : {"host", "thread", "kernel", "card"}) {
        EXPECT_THAT(ends_in_nanoseconds(ping_pong(10),
                                        {.engine = engine(name), .parameters = parameters(1000, 100, 2)}),
                    ElementsAre(2440, 1320))
            << name;
    }
}

TEST(TwoRanks, TheHostEngineMovesOnlyInsideCalls) {
    // Rank 1 has the message at 1100, which it sees in its wait at 5000; done at 5100, sent at 5200, there at
    // 6200, waited for at 6300.
    const auto ends = [](const char* name, int tests) {
        return ends_in_nanoseconds(ping_pong(0), {.engine = engine(name),
                                                  .parameters = parameters(1000, 100),
                                                  .program = {.work = 5000 * nanosecond, .tests = tests}});
    };
    // Rank 0 starts by 100 and works until 5100.
    EXPECT_THAT(ends("host", 0), ElementsAre(6300, 5200));
    // Rank 1's test at 1250 handles the message by 1450, and its work goes on until 5200. The answer is at
    // rank 0 at 2450, which tests at 1350, 2600: there it takes 100.
    EXPECT_THAT(ends("host", 3), ElementsAre(5200, 5200));
}

TEST(TwoRanks, AThreadAKernelAndACardNeedNoCalls) {
    for (const char* name : {"thread", "kernel", "card"})
        EXPECT_THAT(ends_in_nanoseconds(ping_pong(0), {.engine = engine(name),
                                                       .costs = {.wake_up = 50 * nanosecond},
                                                       .parameters = parameters(1000, 100),
                                                       .program = {.work = 5000 * nanosecond}}),
                    Each(5000))
            << name;
}

TEST(TwoRanks, AThreadWakesUpFirst) {
    // 100 sent, 1100 there, 1150 awake, 1250 received, 1350 sent, 2350 there, 2400 awake, 2500.
    EXPECT_THAT(ends_in_nanoseconds(ping_pong(0), {.engine = engine("thread"),
                                                   .costs = {.wake_up = 50 * nanosecond},
                                                   .parameters = parameters(1000, 100)}),
                ElementsAre(2500, 1350));
}

// Each rank sends its vector, and adds what it gets: by the processor or not.
TEST(TwoRanks, ReductionsOfTheKernelEngineWaitForACallInShortListsAndForTheThreadInLongOnes) {
    Parameters costs = parameters(1000, 100);
    costs.copy_per_byte = 10 * nanosecond;
    const auto end = [&](const char* name, std::uint64_t bytes, Time work) {
        return simulate(lists_for(Collective::allreduce, "recursive_doubling", 2, bytes),
                        {.engine = engine(name), .parameters = costs, .program = {.work = work * nanosecond}})
                   .end() /
               nanosecond;
    };
    EXPECT_EQ(end("kernel", 8, 0), 1280);
    EXPECT_EQ(end("kernel", 8, 5000), 5080);
    EXPECT_EQ(end("card", 8, 5000), 5000);
    EXPECT_EQ(end("kernel", 16384, 500000), 500000);
}

// From 11 bytes on; 40 bytes go in two windows of 20; 2 ns for each byte.
Parameters with_rendezvous() {
    Parameters costs = parameters(1000, 100, 2);
    costs.rendezvous_bytes = 11;
    costs.window_bytes = 20;
    return costs;
}

TEST(Rendezvous, InsideCallsItCostsTheHandshake) {
    // The request is there at 1100, answered at 1200; the answer is there at 2200, and a window handed over
    // at 2300. The other one follows at 2340, leaves from 2440 on, and is there at 3480.
    const Lists lists = lists_for(Collective::broadcast, "flat", 2, 40);
    EXPECT_THAT(ends_in_nanoseconds(lists, {.engine = engine("host"), .parameters = with_rendezvous()}),
                ElementsAre(2440, 3580));
    // The thread wakes up for the request, the answer, the second window and the wait.
    const EngineCosts costs{.wake_up = 50 * nanosecond};
    EXPECT_THAT(ends_in_nanoseconds(
                    lists, {.engine = engine("thread"), .costs = costs, .parameters = with_rendezvous()}),
                ElementsAre(2590, 3780));
    for (const char* name : {"kernel", "card"}) {
        EXPECT_THAT(ends_in_nanoseconds(lists, {.engine = engine(name), .parameters = with_rendezvous()}),
                    ElementsAre(100, 1280))
            << name;
    }
    // What is no longer than the limit goes as before.
    EXPECT_THAT(ends_in_nanoseconds(lists_for(Collective::broadcast, "flat", 2, 10),
                                    {.engine = engine("host"), .parameters = with_rendezvous()}),
                ElementsAre(100, 1220));
}

TEST(Rendezvous, TheHostEngineGetsNoFurtherWithoutCallsOfBothSides) {
    const auto ends = [](const char* name, int tests) {
        return ends_in_nanoseconds(lists_for(Collective::broadcast, "flat", 2, 40),
                                   {.engine = engine(name),
                                    .parameters = with_rendezvous(),
                                    .program = {.work = 5000 * nanosecond, .tests = tests}});
    };
    // Answered in the wait at 5000; the rest follows as above.
    EXPECT_THAT(ends("host", 0), ElementsAre(6340, 7480));
    // Answered in the test at 1250. The sender tests at 2600 and 3950, and each sends a window; the last is
    // there at 5090. The receiver's work has ended at 5100, and the sender's at 5300.
    EXPECT_THAT(ends("host", 3), ElementsAre(5300, 5200));
    EXPECT_THAT(ends("thread", 0), ElementsAre(5000, 5000));
}

TEST(Rendezvous, AReceiverThatIsLateAnswersWhenItStarts) {
    // The second request waits for the second start. Each start at 10000, the rest 2480 later.
    Setting setting{.engine = engine("host"), .parameters = with_rendezvous()};
    setting.program = {.iterations = 2,
                       .lateness = {.kind = Lateness::Kind::one, .max = 10000 * nanosecond, .rank = 1}};
    EXPECT_THAT(ends_in_nanoseconds(lists_for(Collective::broadcast, "flat", 2, 40), setting),
                ElementsAre(23820, 24960));
}

TEST(Rendezvous, TheAnswerStandsBehindWhatTheReceiverSends) {
    // Rank 1's short message keeps its interface until 2100. It answers the request of 1100 at 1200; the
    // answer leaves at 2100 and is there at 3100, as the short message is, whose turn comes at 3200. The 40
    // bytes leave from 3200 on and are there at 12,200.
    Parameters costs = parameters(1000, 100, 200);
    costs.rendezvous_bytes = 11;
    EXPECT_THAT(
        ends_in_nanoseconds(there_and_back(40, 10, false), {.engine = engine("host"), .parameters = costs}),
        ElementsAre(3300, 12300));
}

TEST(Interfaces, TheReceiverTakesOneMessageAfterTheOther) {
    // Three messages of 10 bytes and 2 ns a byte at the root of a gather, all there at 1100: the last has
    // arrived at 1160; the root waits for one after the other, from 1120 on.
    const Lists lists = lists_for(Collective::gather, "flat", 4, 10);
    const Outcome outcome = simulate(lists, {.parameters = parameters(1000, 100, 2)});
    EXPECT_EQ(outcome.ends[0] / nanosecond, 1420);
    const Outcome quick = simulate(lists, {.parameters = parameters(1000, 0, 2)});
    EXPECT_EQ(quick.ends[0] / nanosecond, 1060);
}

TEST(Interfaces, TheSenderSendsOneMessageAfterTheOther) {
    // The root's processor is done at 100, 200 and 300, its interface at 120, 220 and 320.
    EXPECT_THAT(ends_in_nanoseconds(lists_for(Collective::scatter, "flat", 4, 10),
                                    {.parameters = parameters(1000, 100, 2)}),
                ElementsAre(300, 1220, 1320, 1420));
    // A gap keeps the interface longer than the bytes do.
    EXPECT_THAT(ends_in_nanoseconds(lists_for(Collective::scatter, "flat", 4, 10),
                                    {.parameters = parameters(1000, 100, 2, 180)}),
                ElementsAre(300, 1220, 1420, 1620));
}

TEST(Order, WorklistAndQueueAgreeWhereNothingIsShared) {
    for (const char* name : {"host", "thread", "kernel", "card"}) {
        for (const int ranks : {2, 7, 16, 33}) {
            Setting setting{.engine = engine(name), .parameters = parameters(1000, 130)};
            setting.parameters.copy_per_byte = 700;
            setting.noise = {.period = 20000 * nanosecond, .length = 700 * nanosecond};
            setting.program = {.iterations = 20, .work = 3000 * nanosecond, .tests = 2};
            setting.program.lateness = {.kind = Lateness::Kind::uniform, .max = 900 * nanosecond};
            const Lists lists = lists_for(Collective::allreduce, "rabenseifner", ranks, 4096);
            setting.evaluation = Evaluation::worklist;
            const Outcome worklist = simulate(lists, setting);
            setting.evaluation = Evaluation::queue;
            const Outcome queue = simulate(lists, setting);
            EXPECT_EQ(worklist.ends, queue.ends) << name << " " << ranks;
            EXPECT_EQ(worklist.messages, queue.messages);
            EXPECT_EQ(worklist.events, 0);
            EXPECT_GE(queue.events, queue.messages);
        }
    }
}

// With the worklist, the calendar queue and the heap.
TEST(Order, OfEvaluationChangesNothing) {
    const auto torus = grid({4, 4}, GridKind::torus, 1, 50 * nanosecond);
    const Lists lists = lists_for(Collective::alltoall, "pairwise", 13, 100);
    for (const Network* network :
         {static_cast<const Network*>(nullptr), static_cast<const Network*>(torus.get())}) {
        for (const char* name : {"host", "thread", "kernel", "card"}) {
            for (const double per_byte : {0.0, 1.5}) {
                for (const std::uint64_t rendezvous_bytes : {UINT64_MAX, std::uint64_t{80}}) {
                    Setting setting{.engine = engine(name),
                                    .parameters = parameters(1000, 130, per_byte),
                                    .network = network};
                    setting.parameters.rendezvous_bytes = rendezvous_bytes;
                    setting.parameters.window_bytes = 60;
                    setting.noise = {.period = 9000 * nanosecond, .length = 900 * nanosecond};
                    setting.program = {.iterations = 4, .work = 20000 * nanosecond, .tests = 3};
                    setting.program.lateness = {.kind = Lateness::Kind::uniform, .max = 3000 * nanosecond};
                    const Outcome forwards = simulate(lists, setting);
                    setting.backwards = true;
                    EXPECT_EQ(simulate(lists, setting).ends, forwards.ends) << name;
                    EXPECT_EQ(forwards.messages, 4 * lists.messages());
                }
            }
        }
    }
}

// The ranks of a list, renamed.
TEST(Order, APermutationOfTheRanksPermutesTheirTimes) {
    const int ranks = 12;
    const auto renamed = [](int rank) { return (rank * 5 + 3) % 12; };
    const ListSet set = build_all(problem_for(Collective::allgather, ranks, 64),
                                  parse_choice(Collective::allgather, "bruck"));
    std::vector<List> others(set.lists.size());
    for (List list : set.lists) {
        list.rank = renamed(list.rank);
        for (Task& task : list.tasks)
            if (task.peer >= 0) task.peer = renamed(task.peer);
        others[static_cast<std::size_t>(list.rank)] = list;
    }
    Setting setting{.parameters = parameters(1000, 130, 1.5)};
    setting.program.lateness = {.kind = Lateness::Kind::one, .max = 4000 * nanosecond, .rank = 2};
    const std::vector<Time> ends = simulate(make_lists(set.lists), setting).ends;
    setting.program.lateness.rank = renamed(2);
    const std::vector<Time> of_others = simulate(make_lists(others), setting).ends;
    for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(of_others[static_cast<std::size_t>(renamed(rank))], ends[static_cast<std::size_t>(rank)]);
}

TEST(Order, ARootThatIsAheadDoesNotChangeWhatTheOthersReceive) {
    // The root sends ten broadcasts before the first has arrived.
    const Lists lists = lists_for(Collective::broadcast, "flat", 3, 10);
    const Setting setting{.parameters = parameters(100000, 100, 2), .program = {.iterations = 10}};
    const Outcome outcome = simulate(lists, setting);
    EXPECT_EQ(outcome.messages, 20);
    EXPECT_EQ(outcome.ends[0] / nanosecond, 2000);
    // The last message leaves at 2000 and arrives 20 after its first byte.
    EXPECT_EQ(outcome.ends[2] / nanosecond, 2000 + 100000 + 20 + 100);
}

TEST(Refusals, SayWhatIsWrong) {
    const Lists lists = lists_for(Collective::alltoall, "flat", 4, 100);
    EXPECT_THROW(simulate(lists, {.parameters = parameters(0, 100, 1)}), Error);
    EXPECT_THROW(simulate(lists, {.parameters = parameters(1000, -1, 1)}), Error);
    EXPECT_THROW(simulate(lists, {.parameters = parameters(1000, 1, 1), .evaluation = Evaluation::worklist}),
                 Error);
    EXPECT_THROW(simulate(lists, {.parameters = parameters(1000, 1),
                                  .program = {.iterations = 10000, .work = from_seconds(900)}}),
                 Error);
    // Both wait before they send.
    Problem problem{.collective = Collective::barrier, .ranks = 2};
    std::vector<List> stuck;
    for (const int rank : {0, 1}) {
        Builder list(problem, rank);
        list.recv(1 - rank);
        list.wait(1 - rank);
        list.send(1 - rank);
        stuck.push_back(list.finish());
    }
    for (const Evaluation evaluation : {Evaluation::worklist, Evaluation::queue}) {
        EXPECT_THROW(
            simulate(make_lists(stuck), {.parameters = parameters(1000, 1), .evaluation = evaluation}),
            Error);
    }
    EXPECT_THROW(make_lists(problem_for(Collective::alltoall, 1000, 8),
                            parse_choice(Collective::alltoall, "flat"), 1 << 20),
                 Error);
}

TEST(NeedsOfASimulation, AreEstimatedFromSomeLists) {
    for (const auto& [collective, algorithm] : {std::pair(Collective::barrier, "recursive_doubling"),
                                                {Collective::gather, "flat"},
                                                {Collective::broadcast, "binomial"},
                                                {Collective::alltoall, "pairwise"}}) {
        const Problem problem = problem_for(collective, 1000);
        const Choice choice = parse_choice(collective, algorithm);
        const Lists lists = make_lists(problem, choice);
        const Needs needs = estimate(problem, choice);
        EXPECT_NEAR(static_cast<double>(needs.messages), static_cast<double>(lists.messages()),
                    0.3 * static_cast<double>(lists.messages()))
            << algorithm;
    }
}

}  // namespace
}  // namespace lapwing::simulate
