// The kernel engine with intra-node peers: the order of messages, the threads that may use the link, and
// links that fail.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "engines/kernel/ranks.hpp"
#include "support/engines.hpp"
#include "support/errors.hpp"
#include "task/checker_lists.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using hand_written::barrier_by_leader;

class KernelIntraNodePeers : public testing::Test {
  protected:
    void SetUp() override { LAPWING_NEEDS_ENGINE(kernel_engine()); }
};

// Hosts of three ranks and of one rank. Rank 1 is the leader of the first host.
const std::vector<int> hosts = {0, 0, 0, 1};

// A broadcast from rank 3 to rank 1, which forwards it to rank 0 on another node and to its intra-node peer,
// rank 2. It has two parts, and the second waits for the first.
constexpr const char* relay =
    "problem broadcast ranks 4 root 3 bytes 80000\n"
    "list 0 in 0 out 80000 scratch 0\n"
    "  recv 1 out[0+40000]\n  recv 1 out[40000+40000]\n  wait 1 2\n"
    "end\n"
    "list 1 in 0 out 80000 scratch 0\n"
    "  recv 3 out[0+40000]\n  recv 3 out[40000+40000]\n"
    "  wait 3 1\n  send 2 out[0+40000]\n  send 0 out[0+40000]\n"
    "  wait 3 1\n  send 2 out[40000+40000]\n  send 0 out[40000+40000]\n"
    "end\n"
    "list 2 in 0 out 80000 scratch 0\n"
    "  recv 1 out[0+40000]\n  recv 1 out[40000+40000]\n  wait 1 2\n"
    "end\n"
    "list 3 in 80000 out 0 scratch 0\n"
    "  send 1 in[0+40000]\n  send 1 in[40000+40000]\n"
    "end\n";
const std::vector<int> hosts_of_relay = {0, 1, 1, 2};

// Of line_of_sums: ranks 0 and 1 are intra-node peers.
const std::vector<int> hosts_of_line = {0, 0, 1};

const std::pair<const char*, std::vector<int>> all_lists[] = {
    {barrier_by_leader, hosts}, {relay, hosts_of_relay}, {line_of_sums, hosts_of_line}};

// The start sends the messages to intra-node peers that come before the first wait.
TEST_F(KernelIntraNodePeers, ALeafNeedsOneTestOnly) {
    on_all_ranks({.lists = parse(barrier_by_leader), .hosts = hosts},
                 [](RankRuns& one, int rank, std::barrier<>& together) {
                     one.start();
                     if (rank == 1 || rank == 3) one.wait_all();
                     together.arrive_and_wait();
                     if (rank == 1 || rank == 3) return;
                     EXPECT_TRUE(one.prepared().test(one.operation()));
                 });
}

// Without calls after the start, inter-node messages complete and intra-node messages wait for the next call.
TEST_F(KernelIntraNodePeers, InterNodePeersDoNotWaitForIntraNodeOnes) {
    const Setting setting{.lists = parse(relay), .buffer_bytes = 4096, .hosts = hosts_of_relay};
    std::atomic<int> started = 0;
    on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
        // Rank 3 starts last, so that no message has arrived when rank 1 starts.
        if (rank == 3)
            while (started < 3) std::this_thread::yield();
        one.start();
        ++started;
        if (rank == 0) {
            EXPECT_TRUE(one.becomes_right());
        } else if (rank == 2) {
            EXPECT_FALSE(one.becomes_right(50ms));
        }
        together.arrive_and_wait();
        one.wait_all();
        EXPECT_TRUE(one.right());
    });
}

// With more runs than lanes, a caller that waits for a run also advances the runs before it.
TEST_F(KernelIntraNodePeers, TheLastMayBeWaitedForFirst) {
    for (const auto& [lists, of_hosts] : all_lists) {
        for (const ProgressLists event_thread_lists :
             {ProgressLists::none, ProgressLists::long_ones, ProgressLists::all}) {
            const Setting setting{
                .lists = parse(lists), .event_thread_lists = event_thread_lists, .hosts = of_hosts};
            on_all_ranks(setting, [](RankRuns& one, int, std::barrier<>&) {
                for (int i = 0; i < (LAPWING_TEST_FEWER ? 8 : 20); ++i) {
                    for (int run = 0; run < 5; ++run) one.start();
                    one.wait_all(i % 3 != 0);
                }
                EXPECT_TRUE(one.right());
            });
        }
    }
}

// A persistent channel has a lane of its own, and uses the intra-node link.
TEST_F(KernelIntraNodePeers, PersistentChannels) {
    on_all_ranks({.lists = parse(line_of_sums), .lanes = 3, .hosts = hosts_of_line, .persistent_lanes = 1},
                 [](RankRuns& one, int, std::barrier<>&) {
                     for (int i = 0; i < 50; ++i) {
                         one.start(first_persistent_channel);
                         one.start();
                         one.wait_all(i % 2 == 0);
                     }
                     EXPECT_TRUE(one.right());
                 });
}

// The guarded link fails the test if the event thread uses it.
TEST_F(KernelIntraNodePeers, TheEventThreadReduces) {
    for (const bool event_thread_submits : {false, true}) {
        const Setting setting{.lists = parse(line_of_sums),
                              .lanes = 1,
                              .event_thread_lists = ProgressLists::all,
                              .event_thread_submits = event_thread_submits,
                              .hosts = hosts_of_line};
        std::atomic<bool> rank_2_has_started = false;
        on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
            if (rank == 1)
                while (!rank_2_has_started) std::this_thread::yield();
            for (int run = 0; run < 3; ++run) one.start();
            if (rank == 2) {
                rank_2_has_started = true;
                EXPECT_TRUE(one.becomes_right());
            } else {
                one.wait_all();
            }
            together.arrive_and_wait();
            one.wait_all();
        });
    }
}

TEST_F(KernelIntraNodePeers, AThreadMayEndBeforeItsCollective) {
    on_all_ranks({.lists = parse(relay), .buffer_bytes = 4096, .hosts = hosts_of_relay},
                 [](RankRuns& one, int rank, std::barrier<>&) {
                     std::thread([&] { one.start(); }).join();
                     if (rank == 3) std::this_thread::sleep_for(10ms);
                     one.wait_all();
                     EXPECT_TRUE(one.right());
                 });
}

// A link whose messages arrive when the test sets a flag.
class Slow : public Link {
  public:
    void send(int, const std::byte*, std::uint64_t, std::uint32_t channel, Transfer& transfer) override {
        channels.push_back(channel);
        transfer = {1, true};
    }
    void recv(int, std::byte*, std::uint64_t, std::uint32_t channel, Transfer& transfer) override {
        channels.push_back(channel);
        transfer = {2, true};
    }
    bool test(Transfer& transfer) override {
        if (fails) throw Error(ErrorCode::link, "rank 1 has gone");
        if (transfer.active && !(transfer.handle == 1 ? sent : received)) return false;
        transfer = {};
        return true;
    }

    bool sent = false;
    bool received = false;
    bool fails = false;
    std::vector<std::uint32_t> channels;
};

struct Exchange {
    std::vector<std::unique_ptr<Connections>> connections = socket_pairs(2, 2);
    Slow intra_node;
    std::unique_ptr<Prepared> prepared = open_kernel_group(*connections[0], {}, &intra_node, {false, true})
                                             ->prepare({}, parse(hand_written::barrier_of_2).lists[0], {});
};

TEST_F(KernelIntraNodePeers, ARunIsCompleteWhenItsIntraNodeMessagesAre) {
    Exchange of;
    Operation* operation = of.prepared->start({}, 7);
    EXPECT_FALSE(of.prepared->progress(operation));
    EXPECT_EQ(of.intra_node.channels, (std::vector<std::uint32_t>{7, 7}));
    of.intra_node.received = true;
    EXPECT_FALSE(of.prepared->test(operation));
    of.intra_node.sent = true;
    EXPECT_TRUE(of.prepared->test(operation));
}

TEST_F(KernelIntraNodePeers, PollsWhileIntraNodeMessagesAreAwaited) {
    Exchange of;
    Operation* operation = of.prepared->start({}, 0);
    EXPECT_EQ(of.prepared->prepare_to_sleep(operation), -1);
    of.intra_node.received = of.intra_node.sent = true;
    EXPECT_TRUE(of.prepared->test(operation));
}

TEST_F(KernelIntraNodePeers, AnIntraNodeLinkThatFailsIsAnErrorOfTheRun) {
    Exchange of;
    Operation* operation = of.prepared->start({}, 0);
    of.intra_node.fails = true;
    EXPECT_EQ(error_of([&] { of.prepared->test(operation); }, ErrorCode::link), "rank 1 has gone");
    // Another run is not affected.
    of.intra_node.fails = false;
    of.intra_node.received = of.intra_node.sent = true;
    Operation* other = of.prepared->start({}, 1);
    EXPECT_NE(other, operation);
    EXPECT_TRUE(of.prepared->test(other));
}

// A thread that starts a run and then waits in the kernel for the end of a child with its memory, as in
// vfork(). The kernel completes a thread's operations in that thread, and cannot do so meanwhile.
class StartsAndStandsStill {
  public:
    StartsAndStandsStill(Prepared& prepared, const Buffers& buffers) {
        EXPECT_EQ(::pipe(ends_), 0);
        thread_ = std::thread([this, &prepared, buffers] {
            operation_ = prepared.start(buffers, 0);
            // The thread sanitizer sees nothing of what a child does.
            started_ = true;
            started_.notify_all();
            const pid_t child = ::clone(stand_still, &stack_.back(), CLONE_VM | CLONE_VFORK | SIGCHLD, this);
            EXPECT_EQ(::waitpid(child, nullptr, 0), child);
        });
        started_.wait(false);
        still_.wait(false);
    }
    ~StartsAndStandsStill() {
        go_on();
        for (const int end : ends_) ::close(end);
    }
    Operation* operation() const { return operation_; }
    void go_on() {
        if (!thread_.joinable()) return;
        EXPECT_EQ(::write(ends_[1], "", 1), 1);
        thread_.join();
    }

  private:
    static int stand_still(void* self) {
        auto& of = *static_cast<StartsAndStandsStill*>(self);
        of.still_ = true;
        of.still_.notify_all();
        char byte = 0;
        return static_cast<int>(::read(of.ends_[0], &byte, 1)) - 1;
    }

    int ends_[2] = {-1, -1};
    std::atomic<bool> started_ = false;
    std::atomic<bool> still_ = false;
    Operation* operation_ = nullptr;
    alignas(16) std::array<char, 64 << 10> stack_;
    std::thread thread_;
};

// The program has its buffers back when a run has failed: not while the kernel may write there.
TEST_F(KernelIntraNodePeers, ARunFailsWhenTheKernelHasReleasedItsBuffers) {
    const auto connections = socket_pairs(3, 2);
    Slow intra_node;
    const ListSet lists = parse(
        "problem broadcast ranks 3 root 1 bytes 200000\n"
        "list 0 in 0 out 200000 scratch 0\n"
        "  recv 1 out[0+100000]\n  recv 2 out[100000+100000]\n  wait 1 1\n  wait 2 1\n"
        "end\n"
        "list 1 in 200000 out 0 scratch 0\n"
        "  send 0 in[0+100000]\n  send 2 in[0+200000]\n"
        "end\n"
        "list 2 in 0 out 200000 scratch 0\n"
        "  recv 1 out[0+200000]\n  wait 1 1\n  send 0 out[100000+100000]\n"
        "end\n");
    const auto prepared = open_kernel_group(*connections[0], {}, &intra_node, {false, false, true})
                              ->prepare({}, lists.lists[0], {});
    Bytes out(200000);
    StartsAndStandsStill starter(*prepared, {nullptr, out.data(), nullptr});
    intra_node.fails = true;
    EXPECT_FALSE(prepared->progress(starter.operation()));
    pollfd completed{prepared->prepare_to_sleep(starter.operation()), POLLIN, 0};
    EXPECT_EQ(::poll(&completed, 1, 0), 0);
    EXPECT_FALSE(prepared->test(starter.operation()));
    starter.go_on();
    EXPECT_EQ(::poll(&completed, 1, -1), 1);
    EXPECT_EQ(error_of([&] { prepared->test(starter.operation()); }, ErrorCode::link), "rank 1 has gone");
}

}  // namespace
}  // namespace lapwing
