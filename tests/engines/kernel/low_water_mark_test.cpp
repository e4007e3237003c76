// Receives of the kernel engine that wait for a low-water mark, on TCP connections.
#include <sys/socket.h>

#include "engines/kernel/chain_plan.hpp"
#include "engines/kernel/probe.hpp"
#include "engines/kernel/ranks.hpp"
#include "engines/kernel/ring.hpp"
#include "support/engines.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;

constexpr std::uint64_t mark = 32768;

Problem exchange_of(std::uint64_t bytes, int ranks = 2) {
    return {.collective = Collective::alltoall, .ranks = ranks, .bytes = bytes};
}

int mark_of(int socket) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &value, &size), 0);
    return value;
}

class LowWaterMark : public testing::Test {
  protected:
    void SetUp() override {
        LAPWING_NEEDS_ENGINE(kernel_engine());
        if (!kernel::sets_socket_options()) GTEST_SKIP() << "this kernel is older than Linux 6.7";
    }
};

// Rank 0 of two, on the kernel engine. The test itself is rank 1: it sends when it likes, and takes what rank
// 0 sends.
class AgainstRawPeer : public LowWaterMark {
  protected:
    void open(std::uint64_t bytes, std::uint64_t low_water_mark, int buffer_bytes = 0) {
        one_.reset();
        group_.reset();
        problem_ = exchange_of(bytes);
        connections_ = tcp_pairs(2, 1, buffer_bytes);
        group_ = open_kernel_group(*connections_[0], {.low_water_mark = low_water_mark});
        one_.emplace(
            problem_, 0,
            group_->prepare(problem_, build(problem_, 0, parse_choice(Collective::alltoall, "flat")), {}));
        message_ = in_of(problem_, 1, 0);
        message_.resize(bytes);  // its block for rank 0
    }
    int own_socket() { return connections_[0]->descriptor(1, 0); }
    // Sends bytes `from` to `to` of the message, at most `piece` at a time.
    void send(std::uint64_t from, std::uint64_t to, std::uint64_t piece) {
        const int socket = connections_[1]->descriptor(0, 0);
        std::vector<std::byte> taken(65536);
        while (from < to) {
            while (::recv(socket, taken.data(), taken.size(), MSG_DONTWAIT) > 0) continue;
            const ssize_t sent = ::send(socket, message_.data() + from, std::min(piece, to - from),
                                        MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent > 0) from += static_cast<std::uint64_t>(sent);
        }
    }
    void take_the_rest() {
        std::vector<std::byte> taken(65536);
        while (!prepared_test())
            while (::recv(connections_[1]->descriptor(0, 0), taken.data(), taken.size(), MSG_DONTWAIT) > 0)
                continue;
    }
    bool prepared_test() { return one_->prepared().test(one_->operation()); }

    Problem problem_;
    std::vector<std::unique_ptr<Connections>> connections_;
    std::unique_ptr<GroupEngine> group_;
    std::optional<RankRuns> one_;
    Bytes message_;
};

// A plan without the option has no marks, and the plan of a long chain has as many as fit into the ring.
TEST(LowWaterMarkPlan, FitsIntoTheRing) {
    Chains chains;
    Chain& chain = chains.receives.emplace_back();
    for (std::uint64_t i = 0; i < ChainLimits{}.chain_steps; ++i) {
        Step& step = chain.emplace_back();
        step.kind = Step::Kind::receive;
        step.peer = 0;
        step.span = {Space::out, 100000 * i, 100000};
    }
    const auto operations = [&](const kernel::Options& options) {
        const kernel::ChainPlan plan(chains, {}, options);
        std::size_t sum = 0;
        for (const kernel::PlannedStep& step : plan.chains.front()) sum += step.operations();
        return sum;
    };
    EXPECT_EQ(operations({}), chain.size());
    EXPECT_GT(operations({.low_water_mark = mark}), chain.size());
    EXPECT_LE(operations({.low_water_mark = mark}), kernel::Ring::entries);
}

TEST(LowWaterMarkPlan, IsNeverMoreThanAReceive) {
    for (const std::uint64_t bytes : {mark - 1, mark, 2 * mark - 1, 2 * mark, std::uint64_t{3} << 30}) {
        const List list = build(exchange_of(bytes), 0, parse_choice(Collective::alltoall, "flat"));
        const kernel::ChainPlan plan(lower_to_chains(list), {}, {.low_water_mark = mark});
        for (const kernel::PlannedChain& chain : plan.chains) {
            for (const kernel::PlannedStep& step : chain) {
                EXPECT_EQ(step.low_water_mark > 0, step.bytes >= mark && !step.sends()) << bytes;
                EXPECT_LE(static_cast<std::uint64_t>(step.low_water_mark), step.bytes) << bytes;
                EXPECT_LT(static_cast<std::uint64_t>(step.low_water_mark), 2 * mark) << bytes;
            }
        }
    }
}

// An older kernel, whose ring refuses the operation, is detected.
TEST_F(LowWaterMark, TheProbeNoticesARefusal) {
    io_uring ring{};
    ASSERT_EQ(io_uring_queue_init(8, &ring, IORING_SETUP_R_DISABLED), 0);
    io_uring_restriction allowed{};
    allowed.opcode = IORING_RESTRICTION_SQE_OP;
    allowed.sqe_op = IORING_OP_RECV;
    ASSERT_EQ(io_uring_register_restrictions(&ring, &allowed, 1), 0);
    ASSERT_EQ(io_uring_enable_rings(&ring), 0);
    EXPECT_FALSE(kernel::sets_socket_options(ring));
    io_uring_queue_exit(&ring);
}

// Several runs on one lane, one after the other: no run leaves a mark that keeps the next one waiting. The
// sockets are small, so that no list stays in them.
TEST_F(LowWaterMark, SizesAroundTheMarkRunAlone) {
    for (const std::uint64_t bytes : {mark - 1, mark, mark + 1, 2 * mark - 1, 2 * mark, 2 * mark + 1,
                                      3 * mark - 1, 3 * mark + 1, 20 * mark + 7}) {
        for (const char* const algorithm : {"flat", "pairwise:window=1"}) {
            const Setting setting{.problem = exchange_of(bytes, 3),
                                  .algorithm = algorithm,
                                  .lanes = 1,
                                  .buffer_bytes = 65536,
                                  .low_water_mark = mark};
            on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
                for (int i = 0; i < 3; ++i) one.start();
                EXPECT_TRUE(one.becomes_right()) << algorithm << " " << bytes << " on rank " << rank;
                together.arrive_and_wait();
                one.wait_all();
            });
        }
    }
}

// Sockets that hold less than the mark: Linux lowers the mark, and wakes receives early.
TEST_F(LowWaterMark, SmallSocketsRunAlone) {
    for (const int buffer_bytes : {2048, 8192, 40000}) {
        const Setting setting{.problem = exchange_of(5 * mark + 3, 3),
                              .algorithm = "flat",
                              .lanes = 1,
                              .buffer_bytes = buffer_bytes,
                              .low_water_mark = mark};
        on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
            for (int i = 0; i < 2; ++i) one.start();
            EXPECT_TRUE(one.becomes_right()) << buffer_bytes << " on rank " << rank;
            together.arrive_and_wait();
            one.wait_all();
        });
    }
}

// Reductions begin when a receive in the middle of a chain is complete, which then reports itself.
TEST_F(LowWaterMark, ReceivesThatReportThemselves) {
    for (const std::uint64_t bytes : {3 * mark, 9 * mark}) {
        const Setting setting{.problem = {.collective = Collective::allreduce,
                                          .ranks = 4,
                                          .bytes = bytes,
                                          .op = Operator::sum,
                                          .type = Type::uint32},
                              .algorithm = "ring",
                              .lanes = 1,
                              .event_thread_lists = ProgressLists::long_ones,
                              .low_water_mark = 4096};
        on_all_ranks(setting, [](RankRuns& one, int, std::barrier<>& together) {
            // The thread that submits ends: the kernel cancels its chains, wherever they are.
            for (int i = 0; i < 4; ++i) std::thread([&] { one.start(); }).join();
            one.wait_all();
            EXPECT_TRUE(one.right());
            together.arrive_and_wait();
        });
    }
}

TEST_F(AgainstRawPeer, AMessageMayDribble) {
    for (const int buffer_bytes : {0, 2048}) {
        for (const std::uint64_t bytes : {mark + 1, 2 * mark + 1}) {
            open(bytes, mark, buffer_bytes);
            one_->start();
            send(0, bytes, 1);
            EXPECT_TRUE(one_->becomes_right()) << bytes << ", buffers of " << buffer_bytes;
            take_the_rest();
            EXPECT_EQ(mark_of(own_socket()), 1);
        }
    }
}

// The chain is cancelled because its thread ends, and the next thread that calls submits the rest of it.
TEST_F(AgainstRawPeer, ACancelledReceiveContinues) {
    constexpr std::uint64_t bytes = 5 * mark / 2;  // a body of 1.5 marks
    for (const std::uint64_t sent : {std::uint64_t{0}, std::uint64_t{1}, mark - 1, mark, mark + 1,
                                     3 * mark / 2 - 1, 3 * mark / 2, 3 * mark / 2 + 1, 2 * mark, bytes - 1}) {
        open(bytes, mark);
        std::thread([&] {
            one_->start();
            send(0, sent, bytes);
            std::this_thread::sleep_for(5ms);
        }).join();
        EXPECT_FALSE(prepared_test()) << sent;
        send(sent, bytes, 1000);
        take_the_rest();
        EXPECT_TRUE(one_->right()) << sent;
        EXPECT_EQ(mark_of(own_socket()), 1) << sent;
    }
}

// A caller that waits takes the chain of a short list back, and does the rest inline.
TEST_F(AgainstRawPeer, AReceiveTakenBackHasNoMark) {
    constexpr std::uint64_t bytes = 6000;
    for (const std::uint64_t sent : {0U, 1U, 1023U, 1024U, 4900U, 4976U, 5000U, 5999U}) {
        open(bytes, 1024);
        one_->start();
        EXPECT_GE(one_->prepared().prepare_to_sleep(one_->operation()), 0);
        EXPECT_EQ(mark_of(own_socket()), 1024);
        send(0, sent, bytes);
        EXPECT_FALSE(one_->prepared().progress(one_->operation())) << sent;
        EXPECT_EQ(mark_of(own_socket()), 1) << sent;
        send(sent, bytes, bytes);
        one_->wait_all();
        EXPECT_TRUE(one_->right()) << sent;
    }
}

}  // namespace
}  // namespace lapwing
