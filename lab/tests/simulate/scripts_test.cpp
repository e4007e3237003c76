// Programs whose ranks differ: messages, collectives of parts of the ranks, loops; times by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "cases.hpp"
#include "simulate/networks/networks.hpp"

namespace lapwing::simulate {
namespace {

using testing::Each;
using testing::ElementsAre;
using Kind = Action::Kind;

constexpr int any = -1;

Action computing(Time nanoseconds, int tests = 0) {
    return compute(nanoseconds * nanosecond, tests);
}
Action send(int operation, int peer, int request = 0, int tag = 0) {
    return {.kind = Kind::send, .operation = operation, .request = request, .peer = peer, .tag = tag};
}
Action receive(int peer, int request = 0, int tag = 0) {
    return {.kind = Kind::receive, .request = request, .peer = peer, .tag = tag};
}
Action at(int site, Action action) {
    action.site = site;
    return action;
}
Action repeat(int times) {
    return {.kind = Kind::repeat, .times = times};
}
const Action end{.kind = Kind::end};
const Action call{.kind = Kind::call};

// Messages take 100 + 1000 + 100 ns, and 1 ns a byte.
class Scripted : public testing::Test {
  protected:
    Scripted() {
        setting_.parameters = parameters(1000, 100, 1);
        setting_.native = setting_.parameters;
        setting_.program.scripts = &scripts_;
    }

    // The index of an operation of messages.
    int message(std::uint64_t bytes, bool synchronous = false) {
        lists_.push_back(std::make_unique<Lists>(make_message(bytes)));
        operations_.push_back({.lists = lists_.back().get(), .native = true, .synchronous = synchronous});
        return static_cast<int>(operations_.size()) - 1;
    }
    int collective(Collective of, const char* algorithm, std::vector<std::int32_t> ranks,
                   std::uint64_t bytes = 0, bool native = false) {
        lists_.push_back(
            std::make_unique<Lists>(lists_for(of, algorithm, static_cast<int>(ranks.size()), bytes)));
        scripts_.communicators.emplace_back(std::move(ranks));
        operations_.push_back({.lists = lists_.back().get(),
                               .communicator = static_cast<int>(scripts_.communicators.size()) - 1,
                               .native = native});
        return static_cast<int>(operations_.size()) - 1;
    }

    Outcome run(std::vector<std::vector<Action>> scripts) {
        scripts_.of_ranks = std::move(scripts);
        const auto ranks = static_cast<int>(scripts_.of_ranks.size());
        Outcome outcome = simulate(ranks, operations_, setting_);
        setting_.backwards = true;
        EXPECT_EQ(simulate(ranks, operations_, setting_).ends, outcome.ends);
        setting_.backwards = false;
        for (Time& time : outcome.ends) time /= nanosecond;
        for (Time& time : outcome.sites) time /= nanosecond;
        for (Time& time : outcome.computing) time /= nanosecond;
        return outcome;
    }

    Scripts scripts_;
    Setting setting_;
    std::vector<std::unique_ptr<Lists>> lists_;
    std::vector<Operation> operations_;
};

TEST_F(Scripted, PingPong) {
    scripts_.sites = 3;
    const int ping = message(0);
    const int pong = message(500);
    // 1200 there and 1700 back, three times; rank 1 computes 300 each time.
    const Outcome outcome =
        run({{repeat(3), at(1, send(ping, 1)), at(1, wait()), at(2, receive(1)), at(2, wait()), end},
             {repeat(3), receive(0), wait(), computing(300), send(pong, 0), wait(), end}});
    // Rank 1 is done when its last message is with the interface.
    EXPECT_THAT(outcome.ends, ElementsAre(3 * 3200, 3 * 3200 - 1600));
    EXPECT_THAT(outcome.computing, ElementsAre(0, 900));
    // Rank 0 sends for 100, and receives for the rest.
    EXPECT_EQ(outcome.sites[1], 3 * 100);
    EXPECT_EQ(outcome.sites[2], 3 * 3100);
    EXPECT_EQ(outcome.messages, 6);
}

// A rank that waits for a message yields its core to ranks that compute, and gets a core when a turn ends.
TEST_F(Scripted, RanksShareCoresInTurns) {
    const int signal = message(0);
    setting_.cores = {.groups = {{{0, 1, 2}, 1}}, .slice = 4000 * nanosecond};
    // Rank 0 sends at 900 and 1500. Both messages arrive 1000 later. Rank 2 receives until 2000, and computes
    // until 6000 in its first turn. Rank 1 receives then, and rank 2 computes the rest.
    const Outcome outcome =
        run({{computing(800), send(signal, 2), wait(), computing(500), send(signal, 1), wait()},
             {receive(0), wait()},
             {receive(0), wait(), computing(6000)}});
    EXPECT_THAT(outcome.ends, ElementsAre(1500, 6100, 8100));
}

TEST_F(Scripted, MoreCoresThanRanksAreNotShared) {
    setting_.cores = {.groups = {{{0, 1}, 2}}, .slice = 4000 * nanosecond};
    const Outcome outcome = run({{computing(9000)}, {computing(5000)}});
    EXPECT_THAT(outcome.ends, ElementsAre(9000, 5000));
}

TEST_F(Scripted, LongComputationsOfOneCoreTakeTurns) {
    setting_.cores = {.groups = {{{0, 1}, 1}}, .slice = 4000 * nanosecond};
    // 4000 and 4000, then 1000 and 2000, whichever rank is first.
    scripts_.of_ranks = {{computing(5000)}, {computing(6000)}};
    const Outcome outcome = simulate(2, operations_, setting_);
    EXPECT_EQ(outcome.end(), 11000 * nanosecond);
    EXPECT_GE(*std::min_element(outcome.ends.begin(), outcome.ends.end()), 9000 * nanosecond);
}

TEST_F(Scripted, RanksOfTwoMachinesShareTheCoresOfTheirOwn) {
    setting_.cores = {.groups = {{{0, 3}, 1}, {{2, 4}, 1}}, .slice = 4000 * nanosecond};
    scripts_.of_ranks = {
        {computing(1000)}, {computing(9000)}, {computing(3000)}, {computing(2000)}, {computing(500)}};
    const Outcome outcome = simulate(5, operations_, setting_);
    EXPECT_EQ(std::max(outcome.ends[0], outcome.ends[3]), 3000 * nanosecond);
    EXPECT_EQ(outcome.ends[1], 9000 * nanosecond);
    EXPECT_EQ(std::max(outcome.ends[2], outcome.ends[4]), 3500 * nanosecond);
}

// Rank 1 has waited for the core since 1100, when its message came, but rank 0 goes on from its computation
// to its send.
TEST_F(Scripted, ARankThatGoesOnInTheMpiKeepsItsCore) {
    const int signal = message(0);
    setting_.cores = {.groups = {{{0, 1}, 1}}, .slice = 4000 * nanosecond};
    const Outcome outcome = run({{computing(2000), send(signal, 2), wait()},
                                 {receive(2), wait(), computing(3000)},
                                 {send(signal, 1), wait(), receive(0), wait()}});
    EXPECT_EQ(outcome.ends[2], 2100 + 1000 + 100);
}

// At 1100 a request comes for rank 0, which computes until 4000 and answers then. Its core is busy, but the
// other one is idle until rank 2 needs it at 1200.
TEST_F(Scripted, WhatBeginsLaterTakesNoIdleCore) {
    setting_.native.rendezvous_bytes = 1000;
    const int far = message(2000);
    const int signal = message(0);
    setting_.cores = {.groups = {{{0, 2, 4}, 2}}, .slice = 4000 * nanosecond};
    const Outcome outcome = run({{receive(1), computing(2000), computing(2000), wait()},
                                 {send(far, 0), wait()},
                                 {receive(3), wait(), computing(500)},
                                 {computing(100), send(signal, 2), wait()},
                                 {}});
    EXPECT_EQ(outcome.ends[2], 1200 + 100 + 500);
}

TEST_F(Scripted, ALongMessageWaitsForCallsOfBothSides) {
    setting_.native.rendezvous_bytes = 1000;
    const int far = message(2000);
    // The request is there at 1100. Rank 1 computes until 10,000 and answers in its wait, at 10,100. The
    // answer is there at 11,100. Rank 0, in its wait since 5100, takes 100 for it; the bytes are there at
    // 14,200.
    EXPECT_THAT(run({{send(far, 1), computing(5000), wait()}, {receive(0), computing(10000), wait()}}).ends,
                ElementsAre(11200, 14300));
    // A call at 2000 answers it already. Rank 0 still computes until 5100 then: sent at 5200, there at 8200.
    EXPECT_THAT(run({{send(far, 1), computing(5000), wait()},
                     {receive(0), computing(2000), call, computing(8000), wait()}})
                    .ends,
                ElementsAre(5200, 10200));
    // A receive that is posted late is answered late.
    EXPECT_THAT(run({{send(far, 1), wait()}, {computing(3000), receive(0), wait()}}).ends,
                ElementsAre(4200, 7300));
}

TEST_F(Scripted, LongMessagesOfAnExchangeFollowEachOtherIfOneRankWasInTheMpiWhenTheOtherAsked) {
    setting_.native.rendezvous_bytes = 1000;
    const int near = message(0);
    const int far = message(2000);
    const auto exchange = [&](const std::vector<Action>& before) {
        std::vector<std::vector<Action>> scripts(2, {receive(1, 0), send(far, 1, 1), wait(0), wait(1)});
        scripts[1] = before;
        for (const Action& action : {receive(0, 0), send(far, 0, 1), wait(0), wait(1)})
            scripts[1].push_back(action);
        scripts.push_back({computing(1900), send(near, 1), wait()});
        if (before.empty() || before.front().kind == Action::Kind::compute) scripts.pop_back();
        return run(scripts).ends[0];
    };
    // Requests are sent at 100, answered at 1200, sent at 2300; the bytes are there at 5300.
    EXPECT_EQ(exchange({}), 5400);
    // A message of rank 2 keeps rank 1 in the MPI until 3100. It then answers at 3200, before its own
    // request, so rank 0 sends its bytes at 4300. Its answer to rank 1 stands behind them, until 6300, and is
    // there at 7300. Rank 1 sends at 7400; the bytes are there at 10,400.
    EXPECT_EQ(exchange({receive(2, 0), wait(0)}), 10500);
    // If it computes until 3000 it takes in the request in its wait, behind its own request of 3100, which
    // rank 0 answers at 4200, before its own bytes. Rank 1 sends at 5300; the bytes are there at 8300.
    EXPECT_EQ(exchange({computing(3000)}), 8400);
}

TEST_F(Scripted, TheRequestOfALongMessageCarriesItsFirstBytes) {
    setting_.native.rendezvous_bytes = 1000;
    setting_.native.request_bytes = 1000;
    const int far = message(3000);
    // The request is there at 100 + 1000 + 1000, the answer, of the wait at 10,100, at 11,100; the other 2000
    // bytes are sent at 11,200.
    EXPECT_THAT(run({{send(far, 1), wait()}, {receive(0), computing(10000), wait()}}).ends,
                ElementsAre(11200, 14300));
    // A synchronous message that is whole in its request is there with the answer, in the wait at 5000.
    const int synchronous = message(400, true);
    EXPECT_THAT(run({{send(synchronous, 1), wait()}, {receive(0), computing(5000), wait()}}).ends,
                ElementsAre(6200, 5200));
}

TEST_F(Scripted, ASynchronousSendWaitsHoweverShort) {
    const int eager = message(8);
    const int synchronous = message(8, true);
    EXPECT_THAT(run({{send(eager, 1), wait()}, {computing(3000), receive(0), wait()}}).ends,
                ElementsAre(100, 3100));
    EXPECT_THAT(run({{send(synchronous, 1), wait()}, {computing(3000), receive(0), wait()}}).ends,
                ElementsAre(4200, 5308));
}

TEST_F(Scripted, TheEngineAndTheNativeMpiHaveTheirOwnConstants) {
    setting_.native = parameters(5000, 500);
    setting_.engine = engine("card");
    const int mine = collective(Collective::barrier, "recursive_doubling", {0, 1});
    const int its = collective(Collective::barrier, "recursive_doubling", {0, 1}, 0, true);
    EXPECT_THAT(run({2, {start(mine), wait()}}).ends, Each(1200));
    EXPECT_THAT(run({2, {start(its), wait()}}).ends, Each(6000));
}

TEST_F(Scripted, ReceivesFromAnySourceTakeTheFirstThatFits) {
    const int near = message(0);
    // Rank 2 sends at 0, rank 1 at 2000 with another tag.
    const auto scripts = [&](const Action& first, const Action& second) {
        return std::vector<std::vector<Action>>{{first, wait(), second, wait()},
                                                {computing(2000), send(near, 0, 0, 7), wait()},
                                                {send(near, 0, 0, 5), wait()}};
    };
    EXPECT_EQ(run(scripts(receive(any, 0, any), receive(any, 0, any))).ends[0], 3200);
    // The message of rank 2 waits until rank 1's is received.
    EXPECT_EQ(run(scripts(receive(any, 0, 7), receive(2, 0, any))).ends[0], 3300);
    EXPECT_THROW(run(scripts(receive(2, 0, any), receive(2, 0, any))), Error);
}

TEST_F(Scripted, LoopsInLoopsRunAsOftenAsTheirProduct) {
    const std::vector<Action> script{repeat(4), computing(10), repeat(3), computing(1), end, end};
    EXPECT_THAT(run({script, script}).ends, Each(4 * 13));
}

TEST_F(Scripted, RanksOfAHostUseItsMemory) {
    setting_.native.near_latency = 300 * nanosecond;
    setting_.native.near_overhead = 20 * nanosecond;
    const auto network = crossbar(2, 2);
    setting_.network = network.get();
    const int word = message(0);
    const auto ends = run({{send(word, 1), wait(), send(word, 2), wait()},
                           {receive(any, 0, any), wait()},
                           {receive(any, 0, any), wait()},
                           {}})
                          .ends;
    EXPECT_THAT(ends, ElementsAre(20 + 100, 20 + 300 + 20, 20 + 1200, 0));
}

TEST_F(Scripted, WhatDoesNotFitIsRefused) {
    const int word = message(0);
    collective(Collective::barrier, "recursive_doubling", {0, 1});
    const auto refused = [&](const std::vector<Action>& script) { EXPECT_THROW(run({script, {}}), Error); };
    refused({receive(1), wait()});                    // nobody sends
    refused({send(word, 2), wait()});                 // no such rank
    refused({send(1, 1), wait()});                    // a collective
    refused({start(word), wait()});                   // a message
    refused({send(word, 1), send(word, 1), wait()});  // the request is in use
    refused({repeat(0), end});                        //
    refused({repeat(2)});                             //
    refused({end, repeat(2)});                        //
    refused({at(9, send(word, 1)), wait()});          // no such site
    refused({computing(-1)});                         //
}

}  // namespace
}  // namespace lapwing::simulate
