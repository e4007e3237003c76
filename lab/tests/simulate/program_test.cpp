// Programs of several steps: times by hand, groups of ranks, several collectives in flight.
#include "simulate/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "cases.hpp"
#include "simulate/networks/networks.hpp"

namespace lapwing::simulate {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr const char* all_engines[] = {"host", "thread", "kernel", "card"};

Action work(Time nanoseconds, int tests = 0, SomeRanks ranks = {}) {
    return compute(nanoseconds * nanosecond, tests, ranks);
}

std::vector<Time> ends(const Lists& lists, const Setting& setting, int ranks = 0) {
    const Operation one{.lists = &lists};
    std::vector<Time> found = simulate(ranks > 0 ? ranks : lists.ranks, {&one, 1}, setting).ends;
    for (Time& end : found) end /= nanosecond;
    return found;
}

TEST(Programs, WithoutOverlapTheirTimeIsTheSum) {
    // Each exchange takes 100 + 1000 + 100.
    const Lists lists = lists_for(Collective::barrier, "recursive_doubling", 2);
    for (const char* name : all_engines) {
        const Setting setting{
            .engine = engine(name),
            .parameters = parameters(1000, 100),
            .program = {.actions = {work(700), start(0), wait(), work(300), start(0), wait()}}};
        EXPECT_THAT(ends(lists, setting), Each(700 + 1200 + 300 + 1200)) << name;
    }
}

TEST(Programs, WhatBlockingAndAloneMeans) {
    const std::vector<Action> actions{work(10), start(0, 0),         work(20, 3), start(1, 1),
                                      wait(0),  work(30, 0, {1, 2}), wait(1),     work(40)};
    std::vector<std::pair<Action::Kind, Time>> found;
    for (const Action& action : blocking(actions)) found.emplace_back(action.kind, action.work / nanosecond);
    using Kind = Action::Kind;
    EXPECT_THAT(found,
                ElementsAre(std::pair(Kind::compute, 10), std::pair(Kind::start, 0), std::pair(Kind::wait, 0),
                            std::pair(Kind::compute, 20), std::pair(Kind::start, 0), std::pair(Kind::wait, 0),
                            std::pair(Kind::compute, 30), std::pair(Kind::compute, 40)));
    EXPECT_EQ(communication(actions).size(), 4);
    EXPECT_EQ(max_in_flight(actions), 2);
    EXPECT_EQ(max_in_flight(blocking(actions)), 1);
    // Ranks 1 and 2 of 3 have 30 more.
    EXPECT_EQ(computation(actions, 0, 3) / nanosecond, 70);
    EXPECT_EQ(computation(actions, 2, 3) / nanosecond, 100);
    // From the last rank on to the first.
    EXPECT_TRUE((SomeRanks{2, 2}.has(0, 3)));
    EXPECT_FALSE((SomeRanks{2, 2}.has(1, 3)));
}

TEST(Programs, AnEngineOnTheProcessorSendsOneAfterTheOther) {
    // Two broadcasts of 10 bytes and 2 ns a byte. The host's processor is done with them at 100 and 200, the
    // interface at 120 and 220; they are there at 1120 and 1220, and taken in by 1220 and 1320.
    const Lists lists = lists_for(Collective::broadcast, "flat", 2, 10);
    Setting setting{.parameters = parameters(1000, 100, 2),
                    .program = {.actions = {start(0, 0), start(0, 1), wait(0), wait(1)}}};
    EXPECT_THAT(ends(lists, setting), ElementsAre(200, 1320));
    setting.engine = engine("thread");
    EXPECT_THAT(ends(lists, setting), ElementsAre(200, 1320));
    // A card runs both lists at once, and only the interface takes them in turn: there at 1120 and 1140.
    setting.engine = engine("card");
    EXPECT_THAT(ends(lists, setting), ElementsAre(100, 1240));
}

TEST(Programs, APipelineHidesAllButTheLastExchange) {
    // Exchanges of 100 + 1000 + 2000 + 100 = 3200 behind work of 5000.
    const Lists lists = lists_for(Collective::alltoall, "pairwise", 2, 1000);
    Setting setting{.engine = engine("card"), .parameters = parameters(1000, 100, 2)};
    const std::vector<Action> actions{work(5000), start(0, 0), work(5000), start(0, 1), wait(0),
                                      work(5000), start(0, 0), wait(1),    wait(0)};
    setting.program.actions = actions;
    EXPECT_THAT(ends(lists, setting), Each(3 * 5000 + 3200));
    setting.program.actions = blocking(actions);
    EXPECT_THAT(ends(lists, setting), Each(3 * (5000 + 3200)));
    // Without tests the host engine sends in the start, at 100, and takes in what is there in the next call:
    // the start at 10,100, whose own task comes first.
    setting.engine = engine("host");
    setting.program.actions = actions;
    EXPECT_THAT(ends(lists, setting), Each(3 * 5000 + 2 * 100 + 2 * 100 + 3200));
}

TEST(Programs, TestsDealWithAllThatIsInFlight) {
    // Two barriers of two rounds. Their first messages leave at 100 and 200 and are there at 1100 and 1200;
    // the test at 1200 takes in both and sends the next two by 1600. So does the one at 2600 with those of
    // 2500 and 2600. Each of 8 tasks takes 100.
    const Lists lists = lists_for(Collective::barrier, "dissemination", 4);
    Setting setting{.engine = engine("host"), .parameters = parameters(1000, 100)};
    setting.program.actions = {start(0, 0), start(0, 1), work(4000, 3), wait(0), wait(1)};
    EXPECT_THAT(ends(lists, setting), Each(4000 + 800));
    // Without tests the second round begins at 4200: four tasks, the latency, and the last message.
    setting.program.actions[2] = work(4000);
    EXPECT_THAT(ends(lists, setting), Each(4200 + 400 + 1000 + 100));
}

TEST(Programs, ATestThatFindsNothingTakesItsTime) {
    const Lists lists = lists_for(Collective::barrier, "recursive_doubling", 2);
    // Tests at 1100 and 2150 find nothing, that at 3200 finds the message that came at 3100.
    const std::vector<Action> once{start(0), work(4000, 3), wait()};
    const Setting setting{.engine = engine("host"),
                          .costs = {.test = 50 * nanosecond},
                          .parameters = parameters(3000, 100),
                          .program = {.actions = once}};
    EXPECT_THAT(ends(lists, setting), Each(100 + 4000 + 2 * 50 + 100));
}

TEST(Programs, WorkOfSomeRanksDelaysTheOthers) {
    const Lists lists = lists_for(Collective::barrier, "recursive_doubling", 2);
    const Setting setting{
        .engine = engine("card"),
        .parameters = parameters(1000, 100),
        .program = {.actions = {work(500, 0, {1, 1}), start(0), wait(), work(50, 0, {0, 1})}}};
    EXPECT_THAT(ends(lists, setting), ElementsAre(500 + 1200 + 50, 100 + 1000 + 100));
}

// What is in flight beside it has no message, but the ranks go from one time to the next.
TEST(Programs, ManyInFlightGiveTheTimesOfOneByItself) {
    const auto torus = grid({4, 4}, GridKind::torus, 1, 50 * nanosecond);
    for (const Network* network :
         {static_cast<const Network*>(nullptr), static_cast<const Network*>(torus.get())}) {
        for (const char* name : all_engines) {
            for (const auto& [collective, algorithm] :
                 {std::pair(Collective::alltoall, "pairwise"), {Collective::allreduce, "rabenseifner"}}) {
                Setting setting{.engine = engine(name),
                                .costs = {.wake_up = 70 * nanosecond, .test = 30 * nanosecond},
                                .parameters = parameters(1000, 130, 1.5),
                                .network = network};
                setting.parameters.rendezvous_bytes = 300;
                setting.parameters.window_bytes = 200;
                setting.parameters.copy_per_byte = 700;
                setting.noise = {
                    .kind = Noise::Kind::poisson, .period = 9000 * nanosecond, .length = 900 * nanosecond};
                setting.program.iterations = 3;
                setting.program.lateness = {.kind = Lateness::Kind::uniform, .max = 3000 * nanosecond};
                const Lists lists = lists_for(collective, algorithm, 13, 400);
                const Lists empty = lists_for(Collective::alltoall, "pairwise", 13, 0);
                ASSERT_EQ(empty.messages(), 0);
                const Operation operations[] = {{.lists = &lists}, {.lists = &empty}};
                setting.program.actions = {start(0, 0), work(20000, 4), wait(0)};
                const Outcome alone = simulate(13, operations, setting);
                setting.program.actions = {start(1, 1), start(0, 0), work(20000, 4), wait(0), wait(1)};
                const Outcome beside = simulate(13, operations, setting);
                EXPECT_EQ(beside.ends, alone.ends) << name << " " << algorithm;
                EXPECT_EQ(beside.messages, alone.messages);
            }
        }
    }
}

std::vector<Action> pipeline() {
    return {work(4000),  start(0, 0),   work(9000, 3), start(0, 1), wait(0), work(7000, 2, {3, 5}),
            start(1, 0), work(5000, 1), wait(1),       start(0, 1), wait(0), work(100, 0),
            wait(1)};
}

// With the worklist, the calendar queue and the heap.
TEST(Programs, TheOrderOfEvaluationChangesNothing) {
    const auto torus = grid({4, 4}, GridKind::torus, 1, 50 * nanosecond);
    const auto groups = dragonfly(4, 2, 2, true, 1, 50 * nanosecond);
    const Lists exchange = lists_for(Collective::alltoall, "pairwise", 13, 100);
    const Lists sum = lists_for(Collective::allreduce, "recursive_doubling", 13, 64);
    const Operation operations[] = {{.lists = &exchange}, {.lists = &sum}};
    const auto compare = [&](Setting setting, std::uint64_t messages) {
        setting.costs.taken = 0.5;
        setting.program.iterations = 4;
        setting.program.lateness = {.kind = Lateness::Kind::uniform, .max = 3000 * nanosecond};
        setting.noise = {
            .kind = Noise::Kind::poisson, .period = 9000 * nanosecond, .length = 900 * nanosecond};
        const Outcome forwards = simulate(13, operations, setting);
        setting.backwards = true;
        EXPECT_EQ(simulate(13, operations, setting).ends, forwards.ends) << setting.engine.name;
        EXPECT_EQ(forwards.messages, 4 * messages);
    };
    for (const Network* network :
         {static_cast<const Network*>(nullptr), static_cast<const Network*>(torus.get()),
          static_cast<const Network*>(groups.get())}) {
        for (const char* name : all_engines) {
            for (const double per_byte : {0.0, 1.5}) {
                Setting setting{.engine = engine(name),
                                .parameters = parameters(1000, 130, per_byte),
                                .network = network,
                                .program = {.work = 20000 * nanosecond, .tests = 3}};
                compare(setting, exchange.messages());
                setting.parameters.rendezvous_bytes = 80;
                setting.parameters.window_bytes = 60;
                compare(setting, exchange.messages());
                setting.program.actions = pipeline();
                compare(setting, 3 * exchange.messages() + sum.messages());
            }
        }
    }
}

TEST(Groups, RunTheirListsEachByItself) {
    const Lists lists = lists_for(Collective::alltoall, "pairwise", 4, 100);
    const Setting setting{.parameters = parameters(1000, 130, 1.5)};
    const std::vector<Time> alone = simulate(lists, setting).ends;
    for (const int stride : {1, 3}) {
        const Operation groups{.lists = &lists, .stride = stride};
        const Outcome outcome = simulate(12, {&groups, 1}, setting);
        EXPECT_EQ(outcome.messages, 3 * lists.messages());
        for (int rank = 0; rank < 12; ++rank) {
            EXPECT_EQ(outcome.ends[static_cast<std::size_t>(rank)],
                      alone[static_cast<std::size_t>(stride == 1 ? rank % 4 : rank / 3)]);
        }
    }
}

TEST(Groups, ARotationGivesTheRootToAnotherRank) {
    const Lists lists = lists_for(Collective::broadcast, "binomial", 6, 100);
    const Setting setting{.parameters = parameters(1000, 130, 1.5)};
    const std::vector<Time> first = simulate(lists, setting).ends;
    const Operation rotated{.lists = &lists, .rotation = 4};
    const std::vector<Time> found = simulate(6, {&rotated, 1}, setting).ends;
    for (std::size_t rank = 0; rank < 6; ++rank) EXPECT_EQ(found[(rank + 4) % 6], first[rank]);
    Problem problem = problem_for(Collective::broadcast, 6, 100);
    problem.root = 4;
    EXPECT_EQ(found,
              simulate(make_lists(problem, parse_choice(Collective::broadcast, "binomial")), setting).ends);
}

TEST(Groups, ThatDoNotFitAreRefused) {
    const Lists lists = lists_for(Collective::barrier, "flat", 4);
    const Operation wrong[] = {
        {.lists = &lists, .stride = 2}, {.lists = &lists, .stride = 0}, {.lists = &lists, .rotation = 4}};
    for (const Operation& one : wrong) {
        EXPECT_THROW(simulate(12, {&one, 1}, {.parameters = parameters(1000, 100)}), Error);
    }
}

TEST(Programs, ThatAreWrongAreRefused) {
    const Lists lists = lists_for(Collective::barrier, "flat", 4);
    const std::vector<std::vector<Action>> wrong{{start(0)},
                                                 {wait()},
                                                 {start(1), wait()},
                                                 {start(0), start(0), wait()},
                                                 {start(0), wait(), wait()},
                                                 {start(0, -1), wait(-1)},
                                                 {work(-1), start(0), wait()}};
    for (const std::vector<Action>& actions : wrong) {
        EXPECT_THROW(ends(lists, {.parameters = parameters(1000, 100), .program = {.actions = actions}}),
                     Error);
    }
    // Several in flight need the order of time.
    const Setting setting{.parameters = parameters(1000, 100),
                          .program = {.actions = {start(0, 0), start(0, 1), wait(0), wait(1)}},
                          .evaluation = Evaluation::worklist};
    EXPECT_THROW(ends(lists, setting), Error);
}

}  // namespace
}  // namespace lapwing::simulate
