// The lanes of the runs of the kernel engine.
#include "engines/kernel/lanes.hpp"
#include "support/unit.hpp"

namespace lapwing::kernel {
namespace {

// A plan that sends to `peers` peers.
ChainPlan plan_for(int peers) {
    Chains chains;
    Stage& stage = chains.stages.emplace_back();
    for (int peer = 0; peer < peers; ++peer) stage.chains.emplace_back().emplace_back().peer = peer;
    return ChainPlan(chains);
}

class LaneQueueTest : public testing::Test {
  protected:
    KernelRun& add(std::uint32_t channel, const ChainPlan& plan) {
        KernelRun& run = *runs_.emplace_back(std::make_unique<KernelRun>());
        run.take(plan, nullptr);
        run.lane = lanes_.lane_of(channel);
        lanes_.add(run);
        return run;
    }

    // Does the next step of a run's only chain.
    void step(KernelRun& run) {
        ++run.chains[0].step;
        lanes_.end_turns(run, changed_);
    }
    bool has_turn(KernelRun& run) { return run.has_turn(run.chains[0].next()); }

    const ChainPlan plan_ = plan_for(1);
    LaneQueue lanes_{2};
    std::vector<KernelRun*> changed_;
    std::vector<std::unique_ptr<KernelRun>> runs_;
};

TEST_F(LaneQueueTest, ChannelsTakeSharedLanesInTurn) {
    KernelRun& first = add(0, plan_);
    KernelRun& second = add(1, plan_);
    EXPECT_TRUE(lanes_.has_lane(first));
    EXPECT_TRUE(lanes_.has_lane(second));
    EXPECT_FALSE(lanes_.has_waiter(first));
    KernelRun& third = add(2, plan_);
    EXPECT_EQ(third.lane, first.lane);
    EXPECT_FALSE(lanes_.has_lane(third));
    EXPECT_TRUE(lanes_.has_waiter(first));
    EXPECT_FALSE(lanes_.has_waiter(second));
}

TEST_F(LaneQueueTest, RemovingAWaitingRunFreesNoLane) {
    KernelRun& first = add(0, plan_);
    KernelRun& second = add(2, plan_);
    lanes_.remove(second, changed_);
    EXPECT_TRUE(changed_.empty());
    EXPECT_TRUE(lanes_.has_lane(first));
    EXPECT_FALSE(lanes_.has_waiter(first));
}

// Each message needs a turn: the bytes on a connection do not say which run they belong to.
TEST_F(LaneQueueTest, TurnsPassInTheOrderOfTheLane) {
    KernelRun& first = add(0, plan_);
    KernelRun& second = add(2, plan_);
    KernelRun& third = add(4, plan_);
    for (KernelRun* const run : {&first, &second, &third}) run->chains.begin_stage(plan_);
    EXPECT_TRUE(has_turn(first));
    EXPECT_FALSE(has_turn(second));
    step(first);
    EXPECT_TRUE(has_turn(second));
    EXPECT_FALSE(has_turn(third));
    EXPECT_EQ(changed_, std::vector{&second});
    // It fails: its turn ends.
    lanes_.remove(second, changed_);
    EXPECT_TRUE(has_turn(third));
    EXPECT_EQ(changed_, (std::vector{&second, &third}));
    lanes_.remove(first, changed_);
    EXPECT_TRUE(lanes_.has_lane(third));
}

TEST_F(LaneQueueTest, ARunThatFailsLeavesTheQueueOfTurns) {
    KernelRun& first = add(0, plan_);
    KernelRun& second = add(2, plan_);
    KernelRun& third = add(4, plan_);
    for (KernelRun* const run : {&first, &third}) run->chains.begin_stage(plan_);
    lanes_.remove(second, changed_);
    EXPECT_TRUE(changed_.empty());
    step(first);
    EXPECT_TRUE(has_turn(third));
}

TEST_F(LaneQueueTest, PersistentChannelsHaveLanesOfTheirOwn) {
    KernelRun& shared = add(1, plan_);
    KernelRun& persistent = add(first_persistent_channel + 1, plan_);
    EXPECT_EQ(persistent.lane, 3U);
    EXPECT_TRUE(lanes_.has_lane(shared));
    EXPECT_TRUE(lanes_.has_lane(persistent));
    int holders = 0;
    lanes_.for_each_holder([&](const KernelRun&) { ++holders; });
    EXPECT_EQ(holders, 2);
}

TEST_F(LaneQueueTest, ARunWithoutPeersNeedsNoLane) {
    const ChainPlan alone = plan_for(0);
    add(0, plan_);
    KernelRun& run = add(2, alone);
    EXPECT_TRUE(lanes_.has_lane(run));
    EXPECT_FALSE(lanes_.has_waiter(run));
    lanes_.remove(run, changed_);
    EXPECT_TRUE(changed_.empty());
}

}  // namespace
}  // namespace lapwing::kernel
