// Planted faults in chain forms are found. proofs_test.cpp proves those of right lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "chain_forms.hpp"
#include "chains/check.hpp"
#include "task/checker.hpp"
#include "task/checker_lists.hpp"
#include "task/checker_verdict.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;

Chain& sending(Chains& chains) {
    return chains.stages[0].chains[0];
}

// One planted fault in the chains of one rank, and what the model says of it.
void expect_found(Formed formed, int rank, const std::string& says,
                  const std::function<void(Chains&)>& plant) {
    ASSERT_EQ(verdict_of(formed), "proven");
    plant(formed.chains[static_cast<std::size_t>(rank)]);
    EXPECT_THAT(verdict_of(formed), HasSubstr(says));
}

constexpr const char* two_messages = R"(
problem broadcast ranks 3 root 0 bytes 8
list 0 in 8 out 0 scratch 0
  send 1 in[0+4]
  send 1 in[4+4]
end
list 1 in 0 out 8 scratch 0
  recv 0 out[0+4]
  recv 0 out[4+4]
  wait 0 1
  send 2 out[0+4]
  wait 0 1
  send 2 out[4+4]
end
list 2 in 0 out 8 scratch 0
  recv 1 out[0+4]
  recv 1 out[4+4]
  wait 1 2
end
)";

TEST(ChainModel, SaysWhenThereIsNoChainForm) {
    const ListSet set = parse(hand_written::allreduce_of_2);
    ASSERT_TRUE(check(set.problem, set.lists).empty());
    const auto fault = check_chains(set.lists);
    ASSERT_TRUE(fault);
    EXPECT_THAT(fault->why, HasSubstr("a receive stands below the top"));
}

TEST(ChainModel, RefusesListsThatAreNotProven) {
    ListSet set = parse(hand_written::barrier_of_2);
    set.lists[0].tasks.erase(set.lists[0].tasks.begin() + 1);  // its send
    EXPECT_THROW(check_chains(set.lists), Error);
}

TEST(ChainModel, RefusesMoreBytesThanItCounts) {
    ListSet set = parse(two_messages);
    ASSERT_FALSE(check_chains(set.lists));
    for (List& list : set.lists) {
        for (Task& task : list.tasks) {
            if (sends(task.kind)) task.source.length = max_bytes_of_chains / 2;
            if (task.kind == Kind::recv) task.target.length = max_bytes_of_chains / 2;
        }
    }
    EXPECT_THROW(check_chains(set.lists), Error);
}

TEST(ChainModel, WantsOneChainFormForEachList) {
    Formed formed = form(hand_written::barrier_of_2, {});
    formed.chains.pop_back();
    EXPECT_THAT(verdict_of(formed), HasSubstr("as many chain forms"));
}

TEST(ChainModel, FindsASignalThatIsDropped) {
    const Formed barrier = form(hand_written::barrier_of_4, nothing_in_line);
    expect_found(barrier, 0, "chains: rank 0: gate 0 gets 0 signals, and 1 are awaited",
                 [](Chains& c) { c.receives[0].pop_back(); });
    // With its await: the send behind it gets ahead of the wait.
    expect_found(
        barrier, 0,
        "rank 0, task 4 (send 2): sending chain 0 of stage 0, step 1 (send 2 a signal) begins before "
        "task 3 (wait 1 1) is satisfied",
        [](Chains& c) {
            c.receives[0].pop_back();
            sending(c).erase(sending(c).begin() + 1);
        });
}

TEST(ChainModel, FindsStepsThatAreSwapped) {
    const Formed barrier = form(hand_written::barrier_of_4, nothing_in_line);
    expect_found(barrier, 0, "begins before task 3",
                 [](Chains& c) { std::swap(sending(c)[1], sending(c)[2]); });
    Formed in_line = form(hand_written::barrier_of_4, {});
    expect_found(in_line, 0, "begins before task 3",
                 [](Chains& c) { std::swap(sending(c)[1], sending(c)[2]); });
    // All await before they send: each for one that waits, too.
    for (Chains& chains : in_line.chains) std::swap(sending(chains)[0], sending(chains)[1]);
    EXPECT_THAT(verdict_of(in_line), HasSubstr("waits for bytes forever, in a deadlock of 4 ranks"));
}

// In the chains of one rank of two_messages.
void expect_found_in(int rank, const ChainLimits& limits, const std::string& says,
                     const std::function<void(Chains&)>& plant) {
    expect_found(form(two_messages, limits), rank, says, plant);
}

TEST(ChainModel, FindsBytesThatLandInAnotherReceive) {
    expect_found_in(0, {}, "they would land in another receive",
                    [](Chains& c) { std::swap(sending(c)[0], sending(c)[1]); });
    expect_found_in(2, nothing_in_line, "they would land in another receive",
                    [](Chains& c) { std::swap(c.receives[0][0], c.receives[0][1]); });
}

TEST(ChainModel, FindsOneGateForTwoPeersWhoseWaitsAreApart) {
    // Rank 0 answers each peer as soon as that peer's block is there.
    const std::string text = with(hand_written::alltoall_of_3,
                                  "  send 1 in[4+4]\n"
                                  "  copy out[0+4] in[0+4]\n"
                                  "  send 2 in[8+4]\n"
                                  "  wait 1 1\n"
                                  "  wait 2 1\n",
                                  "  copy out[0+4] in[0+4]\n"
                                  "  wait 1 1\n"
                                  "  send 1 in[4+4]\n"
                                  "  wait 2 1\n"
                                  "  send 2 in[8+4]\n");
    expect_found(form(text, nothing_in_line), 0, "begins before task 3 (wait 1 1) is satisfied",
                 [](Chains& c) {
                     ASSERT_EQ(c.gates, 2);
                     for (Chain* chain : {&c.receives[0], &c.receives[1], &sending(c)}) {
                         for (Step& step : *chain) step.gate = step.gate >= 0 ? 0 : -1;
                     }
                 });
}

TEST(ChainModel, FindsLongReceivesAmongTheSends) {
    expect_found_in(
        1, {.eager_bytes = 7},
        "is a receive among sends, and rank 0 sends 8 bytes in all: more than the 7 that a connection holds",
        [](Chains& c) {
            Chain& chain = sending(c);
            ASSERT_EQ(chain[0].kind, Step::Kind::await);
            ASSERT_EQ(chain[2].kind, Step::Kind::await);
            chain[0] = c.receives[0][0];
            chain[2] = c.receives[0][2];
            c.receives.clear();
        });
}

// The same fault, where the form cannot tell it: nobody drains what the other sends.
TEST(ChainModel, FindsThatAConnectionHoldsTooLittle) {
    const std::string text = R"(
problem alltoall ranks 2 bytes 600
list 0 in 1200 out 1200 scratch 0
  recv 1 out[600+600]
  copy out[0+600] in[0+600]
  send 1 in[600+600]
  wait 1 1
end
list 1 in 1200 out 1200 scratch 0
  recv 0 out[0+600]
  copy out[600+600] in[600+600]
  send 0 in[0+600]
  wait 0 1
end
)";
    Formed formed = form(text, {.eager_bytes = 600});
    EXPECT_EQ(verdict_of(formed), "proven");
    // Signals that go round through gates of their own keep both ranks from receiving.
    for (Chains& chains : formed.chains) {
        Chain receives{sending(chains).back()};
        sending(chains).pop_back();
        receives.insert(receives.begin(), Step{Step::Kind::await, -1, 0, 1, {}, 0});
        sending(chains).push_back({Step::Kind::signal, -1, 0, 0, {}, 2});
        chains.receives.push_back(receives);
        chains.gates = 1;
    }
    EXPECT_THAT(verdict_of(formed),
                HasSubstr("waits for room on its connection forever, in a deadlock of 2 ranks; "
                          "when connections hold 1 byte"));
}

TEST(ChainModel, FindsStepsThatAreMissingOrTwice) {
    const ChainLimits limits = nothing_in_line;
    expect_found_in(0, limits, "rank 0, task 1 (send 1 in[4+4]): no step of the chains",
                    [](Chains& c) { sending(c).pop_back(); });
    expect_found_in(2, limits, "rank 2, task 1 (recv 1 out[4+4]): no step",
                    [](Chains& c) { c.receives[0].pop_back(); });
    expect_found_in(0, limits, "the 2 steps that do it move 8 bytes in all, not 4",
                    [](Chains& c) { sending(c).push_back(sending(c)[0]); });
    expect_found_in(0, limits, "move 3 bytes in all, not 4",
                    [](Chains& c) { sending(c)[0].span.length = 3; });
    expect_found_in(0, limits, "lies outside the span of its task",
                    [](Chains& c) { sending(c)[0].span.offset = 1; });
    expect_found_in(0, limits, "has another peer than its task", [](Chains& c) { sending(c)[0].peer = 2; });
}

TEST(ChainModel, FindsChainsThatAreCutWrongly) {
    const ChainLimits cut{.eager_bytes = 0, .step_bytes = 1, .chain_steps = 3};
    const auto without_gates = [](std::vector<Chain>& pieces) {
        for (Chain& piece : pieces) {
            std::erase_if(piece, [](const Step& step) { return step.peer < 0; });
        }
    };
    const auto begins_early = "is in flight in the same direction of the same connection";
    expect_found_in(0, cut, begins_early, [&](Chains& c) { without_gates(c.stages[0].chains), c.gates = 0; });
    expect_found_in(2, cut, begins_early, [&](Chains& c) { without_gates(c.receives), c.gates = 0; });
    expect_found_in(0, cut, "they would land in another receive",
                    [](Chains& c) { std::swap(c.stages[0].chains[0][0], c.stages[0].chains[1][1]); });
    Formed longer = form(two_messages, {});
    longer.limits.chain_steps = 3;
    EXPECT_THAT(verdict_of(longer), HasSubstr("has 4 steps, of at most 3"));
    expect_found_in(2, {}, "has no steps", [](Chains& c) { c.receives.emplace_back(); });
    expect_found_in(1, {.eager_bytes = 0, .gate_signals = 2}, "gate 0 gets 3 signals and holds 2",
                    [](Chains& c) {
                        c.receives[0].push_back({Step::Kind::signal, -1, 0, 0, {}, 0});
                        sending(c).push_back({Step::Kind::await, -1, 0, 1, {}, 2});
                    });
}

TEST(ChainModel, FindsLocalWorkInTheWrongPlace) {
    const Formed gather = form(hand_written::gather_of_4, {});
    const Formed reduce = form(hand_written::allreduce_of_3, {});
    expect_found(gather, 0, "rank 0, task 2 (copy out[0+4] in[0+4]): the processor never does it",
                 [](Chains& c) { c.stages[0].local.clear(); });
    expect_found(gather, 0, "the processor does copy out[0+4] in[0+4] instead",
                 [](Chains& c) { c.stages[0].local.push_back(c.stages[0].local[0]); });
    ASSERT_EQ(reduce.chains[0].stages.size(), 3U);
    expect_found(
        reduce, 0,
        "task 5 (reduce sum uint32 out[0+8] scratch[0+8]): the processor does it before task 4 (wait 1 1)",
        [](Chains& c) {
            c.stages[0].local.push_back(c.stages[1].local[0]);
            c.stages[1].local.clear();
        });
    expect_found(reduce, 0, "begins before the processor has done task 7", [](Chains& c) {
        c.last = c.stages[2].local;
        c.stages[2].local.clear();
    });
}

TEST(ChainModel, FindsTwoAwaitsOfOneGateAtOnce) {
    expect_found_in(1, nothing_in_line, "await one gate at the same time", [](Chains& c) {
        Chain& chain = sending(c);
        c.stages[0].chains.push_back({chain.begin() + 2, chain.end()});
        c.stages[0].chains[0].resize(2);
    });
    expect_found_in(1, nothing_in_line, "awaits a gate that another chain awaits, too", [](Chains& c) {
        // The sending chain's await, at the end of the receives that signal.
        Chain& chain = sending(c);
        const auto await = std::find_if(chain.begin(), chain.end(),
                                        [](const Step& step) { return step.kind == Step::Kind::await; });
        c.receives[0].push_back(*await);
        c.receives[0].push_back({Step::Kind::signal, -1, await->gate, 0, {}, 0});
    });
}

TEST(ChainModel, WantsTheHostOfEveryRank) {
    const ListSet set = parse(hand_written::barrier_of_4);
    const std::vector<int> hosts = {0, 0, 1};
    EXPECT_THROW(check_chains(set.lists, {}, hosts), Error);
}

// One planted fault in the processor's line of the leader.
void expect_found_intra_node(const ChainLimits& limits, const std::string& says,
                             const std::function<void(Chains&)>& plant) {
    expect_found(form(parse(hand_written::barrier_by_leader), limits, {0, 0, 0, 1}), 1, says, plant);
}

TEST(ChainModel, FindsWhatComesTooEarlyBesideIntraNodePeers) {
    for (const ChainLimits& limits : {ChainLimits{}, nothing_in_line}) {
        // The inter-node send no longer waits for what the intra-node peers have to say.
        expect_found_intra_node(limits, "(send 3 a signal) begins before task 4 (wait 2 1) is satisfied",
                                [](Chains& c) {
                                    std::vector<Task>& local = c.stages[0].local;
                                    ASSERT_EQ(local.size(), 4U);
                                    std::vector<Task>& beside = c.stages[0].beside;
                                    beside.insert(beside.begin(), local.back());
                                    local.pop_back();
                                });
        // The intra-node sends no longer wait for the inter-node peer.
        expect_found_intra_node(limits, "the processor does it before task 6 (wait 3 1) is satisfied",
                                [](Chains& c) {
                                    ASSERT_EQ(c.stages[0].beside.size(), 3U);
                                    c.stages[0].beside.erase(c.stages[0].beside.begin());
                                });
    }
}

TEST(ChainModel, FindsIntraNodeTasksInTheWrongPlace) {
    expect_found_intra_node({}, "task 8 (send 2): the processor never",
                            [](Chains& c) { c.stages[0].beside.pop_back(); });
    expect_found_intra_node({}, "the processor does send 2 instead",
                            [](Chains& c) { std::swap(c.stages[0].beside[1], c.stages[0].beside[2]); });
    expect_found_intra_node({}, "the processor does wait 3 2",
                            [](Chains& c) { c.stages[0].beside[0].count = 2; });
    expect_found_intra_node({}, "belongs to an intra-node peer: the processor must do it, not a chain",
                            [](Chains& c) {
                                sending(c).push_back({Step::Kind::send, 0, -1, 0, {}, 7});
                            });
}

TEST(ChainModel, FindsAProcessorThatWaitsForEver) {
    // For its own chains, which are handed over after that.
    expect_found_intra_node({}, "forever, in a deadlock of 4 ranks", [](Chains& c) {
        std::vector<Task>& local = c.stages[0].local;
        local.push_back(c.stages[0].beside[0]);
        c.stages[0].beside.erase(c.stages[0].beside.begin());
    });
}

}  // namespace
}  // namespace lapwing
