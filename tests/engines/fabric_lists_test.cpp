// Problems on ranks that are placed on hosts at random, over each fabric between the hosts and shared memory
// inside them, with and without progress threads. The expected results are computed from the problem alone.

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "engines/progress_thread.hpp"
#include "engines/ranks.hpp"
#include "engines/shm_hosts.hpp"
#include "links/fabric_job.hpp"
#include "links/routed.hpp"
#include "support/unit.hpp"
#include "task/chains.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using namespace testing_links;

// The ranks of a job as threads of this process. Each has what its process would have.
class FabricListsJob {
  public:
    FabricListsJob(const FabricCase& which, const std::vector<int>& host_of, bool progress_threads)
        : fabrics_(which, static_cast<int>(host_of.size())),
          hosts_(host_of, std::vector(host_of.size(), Manner{.progress_thread = progress_threads}),
                 [&](int rank) -> Fabric& { return fabrics_.at(rank); }) {
        std::vector<int> all(host_of.size());
        std::iota(all.begin(), all.end(), 0);
        for (const int rank : all) {
            between_.push_back(fabrics_.at(rank).link(7, all));
            inside_.push_back(hosts_.node(rank).link(7, all));
            routed_.push_back(std::make_unique<RoutedLink>(*inside_.back(), *between_.back(),
                                                           intra_node_peers(host_of, rank)));
        }
    }

    std::unique_ptr<Prepared> prepare(const List& list, int rank) {
        const auto at = static_cast<std::size_t>(rank);
        return open_host_group(*routed_[at], thread(rank))->prepare({}, list, {});
    }
    // Ends the waits of the other ranks for one that has failed.
    void give_up(const std::string& why) {
        for (std::size_t rank = 0; rank < routed_.size(); ++rank)
            fabrics_.at(static_cast<int>(rank)).give_up(why);
    }
    ProgressThread* thread(int rank) { return hosts_.progress_thread(rank); }

  private:
    FabricJob fabrics_;
    ShmHosts hosts_;
    std::vector<std::unique_ptr<Link>> between_;
    std::vector<std::unique_ptr<Link>> inside_;
    std::vector<std::unique_ptr<Link>> routed_;
};

class FabricLists : public testing::TestWithParam<FabricCase> {
  protected:
    void SetUp() override {
        if (const std::string reason = why_not(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
    }
    // Several runs of one problem at once, on `ranks` ranks.
    static void run(const FabricCase& which, const Problem& problem, const Choice& choice,
                    const std::vector<int>& host_of, bool progress_threads, unsigned seed) {
        SCOPED_TRACE(print(problem) + " " + print(choice) + (progress_threads ? ", with threads" : "") +
                     ", seed " + std::to_string(seed));
        constexpr int runs = 2;
        FabricListsJob job(which, host_of, progress_threads);
        const auto body = [&](int rank, std::barrier<>& together) {
            std::mt19937 random(seed * 100 + static_cast<unsigned>(rank));
            RankRuns all(problem, rank, job.prepare(build(problem, rank, choice), rank));
            for (int run = 0; run < runs; ++run) all.start();
            // Half of the ranks sleep between their tests.
            ProgressThread* const thread = random() % 2 == 0 ? nullptr : job.thread(rank);
            for (bool done = false; !done;) {
                if (thread != nullptr) thread->suspend();
                for (int tests = 0; tests < 20 && !done; ++tests) done = all.test_one(random);
                if (thread != nullptr) thread->resume();
                if (thread != nullptr && !done) thread->sleep(1ms);
                if (thread == nullptr) std::this_thread::yield();
            }
            EXPECT_TRUE(all.right()) << "rank " << rank;
            // Without threads, a rank that has returned does not advance messages that others need.
            together.arrive_and_wait();
        };
        on_ranks(problem.ranks, body, [&] { job.give_up("another rank has failed"); });
    }
};

TEST_P(FabricLists, AreRightWithThreadsAndWithout) {
    std::mt19937 random(1);
    constexpr std::uint64_t lengths[] = {8, 600, 40000};
    // Libraries take longer to open all transports of the machine than TCP alone.
    const bool opens_soon = !GetParam().variables.empty() || GetParam().fabric == std::string("tcp");
    const int step = LAPWING_TEST_FEWER ? 8 : opens_soon ? 1 : 6;
    int number = 0;
    for (const Algorithm* const algorithm : catalogue()) {
        if (++number % step != 0) continue;
        const int ranks = 2 + static_cast<int>(random() % 4);
        std::vector<int> host_of;
        for (int rank = 0; rank < ranks; ++rank) host_of.push_back(static_cast<int>(random() % 3));
        host_of.back() = host_of.front() + 1;
        const auto placement = placement_on_hosts(std::vector<std::uint64_t>(host_of.begin(), host_of.end()));
        auto problems = sample_problems(algorithm->collective, ranks, lengths[random() % 3]);
        std::shuffle(problems.begin(), problems.end(), random);
        const Parameters parameters = default_parameters(*algorithm);
        for (Problem& problem : problems) {
            problem.placement = placement;
            if (!algorithm->applies(problem, parameters)) continue;
            run(GetParam(), problem, {algorithm, parameters}, host_of, random() % 4 != 0,
                static_cast<unsigned>(number));
            break;
        }
    }
}

// Dependent steps advance without calls: the first test of each rank finds its run complete.
TEST_P(FabricLists, CompleteWithoutCalls) {
    Problem problem;
    problem.ranks = 4;
    problem.bytes = LAPWING_TEST_FEWER ? 40000 : 100000;
    std::atomic<std::uint64_t> wake_ups{0};
    for (const auto& [collective, algorithm] : {std::pair{Collective::alltoall, "pairwise:window=1"},
                                                std::pair{Collective::broadcast, "scatter_ring"},
                                                std::pair{Collective::barrier, "recursive_doubling"}}) {
        problem.collective = collective;
        if (collective == Collective::barrier) problem.bytes = 0;
        const Choice choice = parse_choice(collective, algorithm);
        FabricListsJob job(GetParam(), {0, 0, 1, 2}, true);
        on_ranks(problem.ranks, [&](int rank, std::barrier<>& together) {
            RankRuns one(problem, rank, job.prepare(build(problem, rank, choice), rank));
            Operation* const operation = one.start();
            // The progress thread ends the sleep when it completes a run. It does not wake a thread whose run
            // is complete within its start.
            while (job.thread(rank)->has_work()) job.thread(rank)->sleep(10s);
            EXPECT_TRUE(one.prepared().test(operation)) << print(choice);
            EXPECT_TRUE(one.right()) << print(choice);
            wake_ups += operation->wake_ups;
            together.arrive_and_wait();
        });
    }
    // The first rank that starts has to wait for the others.
    EXPECT_GE(wake_ups, 1U);
}

// Reports long sends as slow, and records which threads send.
class SlowLink final : public Link {
  public:
    static constexpr std::uint64_t max_quickly = 1000;

    explicit SlowLink(std::unique_ptr<Link> link) : link_(std::move(link)) {}
    bool any_thread() const override { return true; }
    bool sends_slowly(int, std::uint64_t bytes) const override { return bytes > max_quickly; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        link_->send(peer, data, bytes, channel, transfer);
        by_this_thread.push_back(std::this_thread::get_id() == program_);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        link_->recv(peer, data, bytes, channel, transfer);
    }
    bool test(Transfer& transfer) override { return link_->test(transfer); }
    void flush() override { link_->flush(); }

    std::vector<bool> by_this_thread;  // each send; read when the list is complete

  private:
    std::unique_ptr<Link> link_;
    const std::thread::id program_ = std::this_thread::get_id();
};

TEST(FabricStart, LeavesSlowSendsToTheProgressThread) {
    const FabricCase& tcp =
        *std::find_if(std::begin(fabric_cases), std::end(fabric_cases),
                      [](const FabricCase& one) { return one.name == std::string("tcp"); });
    if (const std::string reason = why_not(tcp); !reason.empty()) GTEST_SKIP() << reason;
    FabricJob job(tcp, 2);
    const WakePipe pipe;
    const auto receiver = job.at(1).link(7, {0, 1});
    SlowLink slow(job.at(0).link(7, {0, 1}));
    // The third message must stay behind the second one.
    const ListSet lists = parse(
        "problem broadcast ranks 2 root 0 bytes 2000\n"
        "list 0 in 2000 out 0 scratch 0\n  send 1 in[0+1000]\n  send 1 in[0+2000]\n  send 1 in[0+1]\nend\n"
        "list 1 in 0 out 2000 scratch 0\nend\n");
    for (const bool with_thread : {true, false}) {
        SCOPED_TRACE(with_thread);
        Bytes out[] = {Bytes(1000), Bytes(2000), Bytes(1)};
        Link::Transfer transfers[std::size(out)];
        for (std::size_t i = 0; i < std::size(out); ++i)
            receiver->recv(0, out[i].data(), out[i].size(), 5, transfers[i]);
        std::unique_ptr<ProgressThread> thread;
        if (with_thread)
            thread = std::make_unique<ProgressThread>(nullptr, &job.at(0), &pipe, std::vector<int>());
        const auto prepared = open_host_group(slow, thread.get())->prepare(lists.problem, lists.lists[0], {});
        const Bytes in(2000, std::byte{3});
        slow.by_this_thread.clear();
        Operation* const operation = prepared->start({in.data(), nullptr, nullptr}, 5);
        while (with_thread && thread->has_work()) thread->sleep(10s);
        while (!prepared->test(operation)) std::this_thread::yield();
        for (std::size_t i = 0; i < std::size(out); ++i) {
            while (!receiver->test(transfers[i])) job.at(0).progress();
            EXPECT_EQ(out[i], Bytes(out[i].size(), std::byte{3}));
        }
        EXPECT_EQ(slow.by_this_thread, (std::vector<bool>{true, !with_thread, !with_thread}));
    }
}

INSTANTIATE_TEST_SUITE_P(All, FabricLists, testing::ValuesIn(fabric_cases), testing_links::name_of);

}  // namespace
}  // namespace lapwing
