// Rule chains where some peers are intra-node: as chain_model_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "chain_model.hpp"

namespace lapwing {
namespace {

using namespace chain_model;
using ::testing::HasSubstr;

TEST(ChainModel, ProvesIntraNodePeers) {
    for (const ListSet& set : right_lists()) {
        for (const std::vector<int>& hosts : sample_hosts(set.problem.ranks)) {
            const auto violations = check_chains(set.lists, {}, 8, hosts);
            EXPECT_TRUE(violations.empty()) << violations[0].what(set.lists) << '\n' << print(set);
        }
    }
}

TEST(ChainModel, WantsTheHostOfEveryRank) {
    const ListSet set = parse(hand_written::barrier_of_4);
    const std::vector<int> hosts = {0, 0, 1};
    EXPECT_THROW(check_chains(set.lists, {}, 8, hosts), Error);
}

// A leader in the middle: rank 0 and 2 are on its host, rank 3 is not.
constexpr const char* leader = R"(
problem barrier ranks 4
list 0 in 0 out 0 scratch 0
  recv 1
  send 1
  wait 1 1
end
list 1 in 0 out 0 scratch 0
  recv 0
  recv 2
  recv 3
  wait 0 1
  wait 2 1
  send 3
  wait 3 1
  send 0
  send 2
end
list 2 in 0 out 0 scratch 0
  recv 1
  send 1
  wait 1 1
end
list 3 in 0 out 0 scratch 0
  recv 1
  send 1
  wait 1 1
end
)";

// One planted fault in the processor's line of the leader.
void expect_found_intra_node(const ChainLimits& limits, const std::function<void(Chains&)>& plant,
                             const std::string& says) {
    Formed formed = form(parse(leader), limits, {0, 0, 0, 1});
    ASSERT_TRUE(check(formed.set.problem, formed.set.lists).empty());
    ASSERT_EQ(verdict_of(formed), "proven");
    plant(formed.chains[1]);
    EXPECT_THAT(verdict_of(formed), HasSubstr(says));
}

TEST(ChainModel, FindsWhatComesTooEarlyBesideIntraNodePeers) {
    for (const ChainLimits& limits : {ChainLimits{}, nothing_in_line}) {
        // The inter-node send no longer waits for what the intra-node peers have to say.
        expect_found_intra_node(
            limits,
            [](Chains& c) {
                std::vector<Task>& local = c.stages[0].local;
                ASSERT_EQ(local.size(), 4U);
                std::vector<Task>& beside = c.stages[0].beside;
                beside.insert(beside.begin(), local.back());
                local.pop_back();
            },
            "(send 3 a signal) begins before task 4 (wait 2 1) is satisfied");
        // The intra-node sends no longer wait for the inter-node peer.
        expect_found_intra_node(
            limits,
            [](Chains& c) {
                ASSERT_EQ(c.stages[0].beside.size(), 3U);
                c.stages[0].beside.erase(c.stages[0].beside.begin());
            },
            "the processor does it before task 6 (wait 3 1) is satisfied");
    }
}

TEST(ChainModel, FindsIntraNodeTasksInTheWrongPlace) {
    expect_found_intra_node(
        {}, [](Chains& c) { c.stages[0].beside.pop_back(); }, "task 8 (send 2): the processor never");
    expect_found_intra_node(
        {}, [](Chains& c) { std::swap(c.stages[0].beside[1], c.stages[0].beside[2]); },
        "the processor does send 2 instead");
    expect_found_intra_node(
        {}, [](Chains& c) { c.stages[0].beside[0].count = 2; }, "the processor does wait 3 2");
    expect_found_intra_node(
        {},
        [](Chains& c) {
            sending(c).push_back({Step::Kind::send, 0, -1, 0, {}, 7});
        },
        "belongs to an intra-node peer: the processor must do it, not a chain");
}

TEST(ChainModel, FindsAProcessorThatWaitsForEver) {
    // For its own chains, which are handed over after that.
    expect_found_intra_node(
        {},
        [](Chains& c) {
            std::vector<Task>& local = c.stages[0].local;
            local.push_back(c.stages[0].beside[0]);
            c.stages[0].beside.erase(c.stages[0].beside.begin());
        },
        "forever, in a deadlock of 4 ranks");
}

TEST(SlowChainModel, AProofHoldsOnRealBytesWithIntraNodePeers) {
    std::mt19937 random(5);
    for (const ListSet& set : right_lists()) {
        for (const ChainLimits& limits : {ChainLimits{}, nothing_in_line, ChainLimits{0, 3, 3, 1}}) {
            for (const std::vector<int>& hosts : sample_hosts(set.problem.ranks)) {
                const Formed formed = form(set, limits, hosts);
                for (int i = 0; i < 5; ++i) {
                    EXPECT_TRUE(chains_run_right(set.problem, formed.chains,
                                                 std::max<std::uint64_t>(limits.eager_bytes, 1 + i % 2),
                                                 random, hosts))
                        << print(set) << print(formed.chains[0]);
                }
            }
        }
    }
}

TEST(SlowChainModel, AProofHoldsOnRealBytesAfterRandomChangesWithIntraNodePeers) {
    const Changed changed = change([](const ListSet& set) { return sample_hosts(set.problem.ranks); }, 90);
    EXPECT_GT(changed.refused, 500);
    EXPECT_GT(changed.proven, 100);  // an intra-node send may come before the chains, for one
}

}  // namespace
}  // namespace lapwing
