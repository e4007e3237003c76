// Steps of runs by system calls: those of runs that share a connection together.
#include "engines/kernel/run.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include "engines/kernel/lanes.hpp"
#include "support/unit.hpp"

namespace lapwing::kernel {
namespace {

constexpr std::uint64_t length = 8;  // of a message, in bytes

// Sends eight bytes to a peer and receives as many from it, `times` times.
ChainPlan exchange(int times) {
    Chains chains;
    Chain& chain = chains.stages.emplace_back().chains.emplace_back();
    for (int time = 0; time < times; ++time) {
        chain.push_back({.kind = Step::Kind::send, .peer = 0, .span = {Space::in, 0, length}});
        chain.push_back({.kind = Step::Kind::receive, .peer = 0, .span = {Space::out, 0, length}});
    }
    return ChainPlan(chains);
}

class RunsOnALane : public testing::Test {
  protected:
    // Each message to the peer keeps its limits, so that system calls can be counted.
    RunsOnALane() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        to_peer_ = Descriptor(ends[0]);
        peer_ = Descriptor(ends[1]);
    }

    struct Message {
        int number = 0;
        int unused = 0;
        std::byte* bytes() { return reinterpret_cast<std::byte*>(this); }
    };
    static_assert(sizeof(Message) == length);
    struct Run : KernelRun {
        Message in;
        Message out;
    };

    Run& start(const ChainPlan& plan) {
        Run& run = *runs_.emplace_back(std::make_unique<Run>());
        run.take(plan, nullptr);
        run.restart(false);
        run.in.number = static_cast<int>(runs_.size());
        run.operands.memory.buffers.in = run.in.bytes();
        run.operands.memory.buffers.out = run.out.bytes();
        run.operands.sockets = {to_peer_.get()};
        lanes_.add(run);
        run.state = KernelRun::State::running;
        run.chains.begin_receives(plan);
        run.chains.begin_stage(plan);
        return run;
    }
    // Returns the runs that have moved with `run`.
    std::vector<KernelRun*> advance(Run& run) {
        std::vector<KernelRun*> others;
        EXPECT_TRUE(advance_inline(run, others));
        std::vector<KernelRun*> changed;
        lanes_.end_turns(run, changed);
        for (KernelRun* const other : others) lanes_.end_turns(*other, changed);
        return others;
    }
    // The numbers of the runs whose messages the peer gets by one receive; empty: none has come.
    std::vector<int> peer_receives() {
        Message messages[8];
        const ssize_t got = ::recv(peer_.get(), messages, sizeof messages, MSG_DONTWAIT);
        std::vector<int> numbers;
        for (int i = 0; i < got / static_cast<int>(length); ++i) numbers.push_back(messages[i].number);
        return numbers;
    }
    void peer_sends(const std::vector<int>& numbers) {
        std::vector<Message> messages(numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) messages[i].number = numbers[i];
        const std::size_t all = messages.size() * length;
        EXPECT_EQ(::send(peer_.get(), messages.data(), all, 0), static_cast<ssize_t>(all));
    }

    Descriptor to_peer_;
    Descriptor peer_;
    LaneQueue lanes_{1};
    std::vector<std::unique_ptr<Run>> runs_;
};

using Runs = std::vector<KernelRun*>;

TEST_F(RunsOnALane, TheirSendsLeaveTogether) {
    const ChainPlan plan = exchange(1);
    Run& first = start(plan);
    Run& second = start(plan);
    Run& third = start(plan);
    EXPECT_EQ(advance(third), Runs{});  // it is not its turn
    EXPECT_EQ(advance(first), (Runs{&second, &third}));
    EXPECT_EQ(peer_receives(), (std::vector{1, 2, 3}));
    EXPECT_EQ(peer_receives(), std::vector<int>{});
}

// Only the first message is looked for. When it has come, those behind it may have come as well.
TEST_F(RunsOnALane, WhatHasComeIsReceivedTogether) {
    const ChainPlan plan = exchange(1);
    Run& first = start(plan);
    Run& second = start(plan);
    Run& third = start(plan);
    advance(first);
    EXPECT_EQ(advance(first), Runs{});
    peer_sends({11});
    peer_sends({12, 13});
    EXPECT_EQ(advance(first), (Runs{&second, &third}));
    for (Run* const run : {&first, &second, &third}) EXPECT_TRUE(run->chains.stage_is_complete());
    EXPECT_EQ(first.out.number, 11);
    EXPECT_EQ(second.out.number, 12);
    EXPECT_EQ(third.out.number, 13);
}

// The run behind would send its first message before the second one of the run in front.
TEST_F(RunsOnALane, ARunWithMoreToSendLeavesNoRoomForThoseBehind) {
    const ChainPlan twice = exchange(2);
    Run& first = start(twice);
    Run& second = start(twice);
    EXPECT_EQ(advance(first), Runs{});
    EXPECT_EQ(peer_receives(), std::vector{1});
    peer_sends({11});
    EXPECT_EQ(advance(first), Runs{&second});
    EXPECT_EQ(peer_receives(), (std::vector{1, 2}));
}

// A run that is not at a step of this direction stops the row.
TEST_F(RunsOnALane, ARunThatHasNotBegunStopsTheRow) {
    const ChainPlan plan = exchange(1);
    Run& first = start(plan);
    Run& second = start(plan);
    Run& third = start(plan);
    second.state = KernelRun::State::held_back;
    EXPECT_EQ(advance(first), Runs{});
    second.state = KernelRun::State::running;
    second.chains.enter_kernel(second.chains[0]);
    EXPECT_EQ(peer_receives(), std::vector{1});
    second.chains.leave_kernel(second.chains[0]);
    EXPECT_EQ(advance(second), Runs{&third});
    EXPECT_EQ(peer_receives(), (std::vector{2, 3}));
}

TEST_F(RunsOnALane, TheEndOfTheConnectionBreaksTheRunWhoseTurnItIs) {
    const ChainPlan plan = exchange(1);
    Run& first = start(plan);
    Run& second = start(plan);
    advance(first);
    peer_ = Descriptor();
    Runs others;
    EXPECT_FALSE(advance_inline(first, others));
    EXPECT_EQ(first.broken_by, ECONNRESET);
    EXPECT_EQ(second.broken_step, nullptr);
}

}  // namespace
}  // namespace lapwing::kernel
