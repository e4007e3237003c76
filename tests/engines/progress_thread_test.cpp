// The progress thread advances lists of the host engine while the program does not call Lapwing.
#include "engines/progress_thread.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "engines/progress_choice.hpp"
#include "engines/ranks.hpp"
#include "engines/shm_hosts.hpp"
#include "support/unit.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;
using namespace testing_engines;

// One rank on a host with others, and its runs of a list.
struct ThreadRank {
    int number = 0;
    ProgressThread* progress_thread = nullptr;
    shm::ShmNode* node = nullptr;
    RankRuns& runs;
    Prepared* prepared = nullptr;
};

// Calls `body` on a thread for each rank of the lists. All ranks are on one host.
void on_one_host(const ListSet& lists, const Manner& manner,
                 const std::function<void(ThreadRank&, std::barrier<>&)>& body) {
    const auto ranks = static_cast<std::size_t>(lists.problem.ranks);
    ShmHosts hosts(std::vector<int>(ranks, 0), std::vector<Manner>(ranks, manner));
    on_ranks(lists.problem.ranks, [&](int number, std::barrier<>& together) {
        ProgressThread* const progress_thread = hosts.progress_thread(number);
        const auto link = hosts.node(number).link(1, hosts.ranks_with(number));
        RankRuns runs(lists.problem, number,
                      open_host_group(*link, progress_thread)
                          ->prepare(lists.problem, lists.lists[static_cast<std::size_t>(number)], {}));
        ThreadRank rank{number, progress_thread, &hosts.node(number), runs, &runs.prepared()};
        body(rank, together);
        together.arrive_and_wait();
    });
}

struct Case {
    const char* algorithm;
    Problem problem;
};
std::vector<Case> cases() {
    constexpr std::uint64_t bytes = LAPWING_TEST_FEWER ? 40000 : 300000;
    const auto sum_of = [](std::uint64_t length) {
        return Problem{.collective = Collective::allreduce,
                       .ranks = 4,
                       .bytes = length,
                       .op = Operator::sum,
                       .type = Type::int32};
    };
    return {{"pairwise:window=1", {.collective = Collective::alltoall, .ranks = 3, .bytes = bytes}},
            {"ring", {.collective = Collective::alltoall, .ranks = 3, .bytes = bytes}},
            {"scatter_ring", {.collective = Collective::broadcast, .ranks = 3, .bytes = 3 * bytes}},
            {"rabenseifner", sum_of(bytes)},
            {"recursive_doubling", sum_of(400)}};
}

class ProgressThreadTest : public testing::TestWithParam<shm::TransferMethod> {};

// Several dependent steps, with copies and reductions between them.
TEST_P(ProgressThreadTest, ListsCompleteWithoutCalls) {
    for (const auto& [algorithm, problem] : cases()) {
        const ListSet lists = build_all(problem, parse_choice(problem.collective, algorithm));
        on_one_host(lists, {GetParam(), true}, [&](ThreadRank& rank, std::barrier<>& together) {
            for (int run = 0; run < 3; ++run) {
                rank.runs.start();
                EXPECT_TRUE(rank.runs.becomes_right()) << print(lists.problem) << ", rank " << rank.number;
                together.arrive_and_wait();
                rank.runs.wait_all();
            }
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Transfers, ProgressThreadTest,
                         testing::Values(shm::TransferMethod::processor, shm::TransferMethod::kernel),
                         [](const auto& method) {
                             return method.param == shm::TransferMethod::processor ? "processor" : "kernel";
                         });

// Without a progress thread the same lists do not complete, so the tests above show its work.
TEST(ProgressByThread, WithoutAThreadNothingAdvancesBetweenCalls) {
    const Problem problem = cases().front().problem;
    const ListSet lists = build_all(problem, parse_choice(problem.collective, "pairwise:window=1"));
    on_one_host(lists, {shm::TransferMethod::kernel, false}, [&](ThreadRank& rank, std::barrier<>& together) {
        rank.runs.start();
        EXPECT_FALSE(rank.runs.becomes_right(20ms));
        together.arrive_and_wait();
        rank.runs.wait_all();
        EXPECT_TRUE(rank.runs.right());
    });
}

// Only threads of the program call the program's own function. A thread that sleeps until then is woken.
TEST(ProgressByThread, TheProgramsFunctionIsCalledByTheProgram) {
    const Problem problem{.collective = Collective::allreduce,
                          .ranks = 4,
                          .bytes = 40000,
                          .op = Operator::user,
                          .type = Type::opaque,
                          .ordered = true,
                          .element = 8};
    const ListSet lists = build_all(problem, parse_choice(problem.collective, "recursive_doubling"));
    on_one_host(lists, {shm::TransferMethod::automatic, true}, [&](ThreadRank& rank, std::barrier<>&) {
        for (int run = 0; run < 20; ++run) {
            rank.runs.start();
            rank.runs.wait_all();
            EXPECT_TRUE(rank.runs.right()) << "run " << run;
        }
        EXPECT_GT(rank.runs.reducer().calls(), 0);
        EXPECT_EQ(rank.runs.reducer().calls_of_others(), 0);
    });
}

// The other threads of this process: whether all of them sleep, and how often they have gone to sleep.
struct Others {
    bool asleep = true;
    long sleeps = 0;
};
Others other_threads() {
    Others others;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        if (thread.path().filename() == std::to_string(::gettid())) continue;
        std::ifstream status(thread.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("State:")) others.asleep = others.asleep && line.find('S', 6) != line.npos;
            if (line.starts_with("voluntary_ctxt_switches:")) others.sleeps += std::stol(line.substr(24));
        }
    }
    return others;
}
bool others_fall_asleep() {
    const auto end = std::chrono::steady_clock::now() + 20s;  // so that the test ends
    while (!other_threads().asleep) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

// Waiting for a late rank takes no processor time, neither of progress threads nor of threads that sleep.
TEST(ProgressByThread, SleepsWhileNothingMoves) {
    const Problem problem{.collective = Collective::alltoall, .ranks = 3, .bytes = 100000};
    const ListSet lists = build_all(problem, parse_choice(problem.collective, "flat"));
    on_one_host(lists, {shm::TransferMethod::automatic, true},
                [&](ThreadRank& rank, std::barrier<>& together) {
                    Operation* operation = nullptr;
                    if (rank.number != 0) operation = rank.runs.start();
                    together.arrive_and_wait();
                    if (rank.number == 0) {
                        EXPECT_TRUE(others_fall_asleep());
                        const long before = other_threads().sleeps;
                        std::this_thread::sleep_for(200ms);
                        EXPECT_TRUE(others_fall_asleep());
                        // A sanitizer's own thread wakes now and then.
                        EXPECT_LE(other_threads().sleeps - before, 10);
                        operation = rank.runs.start();
                    }
                    while (!rank.prepared->test(operation)) rank.progress_thread->sleep(100ms);
                    EXPECT_TRUE(rank.runs.right());
                });
}

// A network without messages; what is written to its pipe wakes the thread, as a message does.
class PipeFabric final : public Fabric {
  public:
    const char* name() const override { return "pipe"; }
    std::string description() const override { return name(); }
    bool rdma() const override { return false; }
    std::vector<std::byte> address() const override { return {}; }
    void join(std::vector<Peer>, int, const JobKey&) override {}
    std::unique_ptr<Link> link(std::uint64_t, std::vector<int>) override { return nullptr; }
    bool progress() override {
        pipe.drain();
        return false;
    }
    bool has_events() override { return false; }
    void forget_completed() override {}
    bool prepare_to_sleep() override {
        asked = true;
        return true;
    }
    int descriptor() const override { return pipe.descriptor(); }
    std::chrono::nanoseconds max_sleep() override { return -1ns; }
    bool flush() override { return true; }
    void give_up(const std::string&) override {}

    WakePipe pipe;
    std::atomic<bool> asked = false;  // before a sleep at the network
};

// The thread wakes up for a message of a long run. For one of a run that the program has just started, and
// that is short, it waits first whether the program comes for it.
TEST(ProgressByThread, LeavesAShortRunToTheProgramAtFirst) {
    struct Run final : ProgressThread::Work {
        using Work::Work;
        Outcome advance() override { return Outcome::complete; }
    };
    for (const bool is_short : {false, true}) {
        PipeFabric fabric;
        const WakePipe pipe;
        ProgressThread thread(nullptr, &fabric, &pipe, {});
        while (!fabric.asked) std::this_thread::yield();
        ASSERT_TRUE(others_fall_asleep());
        Run run(is_short);
        thread.add(run);
        thread.release(run);
        WakePipe::wake(fabric.pipe.writer());
        while (thread.has_work()) std::this_thread::yield();
        while (!thread.try_acquire(run)) std::this_thread::yield();
        EXPECT_EQ(run.times_woken(), is_short ? 0U : 1U);
        thread.remove(run);
    }
}

TEST(ProgressByThread, TestsOfARunReportItsFailure) {
    const ListSet lists = parse(
        "problem broadcast ranks 2 root 0 bytes 8\n"
        "list 0 in 8 out 0 scratch 0\n  send 1 in[0+8]\nend\n"
        "list 1 in 0 out 8 scratch 0\n  recv 0 out[0+4]\n  wait 0 1\nend\n");
    on_one_host(lists, {shm::TransferMethod::automatic, true},
                [&](ThreadRank& rank, std::barrier<>& together) {
                    std::byte data[8]{};
                    // A message that is longer than its receive, after its receive or before it.
                    for (const std::uint32_t late : {0U, 1U}) {
                        if (rank.number == static_cast<int>(late)) together.arrive_and_wait();
                        Operation* const operation = rank.prepared->start({data, data}, late);
                        if (rank.number == 0) wait(*rank.prepared, operation);
                        if (rank.number != static_cast<int>(late)) together.arrive_and_wait();
                        if (rank.number == 1) {
                            EXPECT_THROW(wait(*rank.prepared, operation), Error);
                        }
                    }
                    // No message at all, from a rank that leaves.
                    if (rank.number == 0) return together.arrive_and_wait();
                    Operation* const second = rank.prepared->start({nullptr, data}, 2);
                    std::thread other([&] {
                        std::this_thread::sleep_for(5ms);
                        rank.node->give_up("rank 0 has left");
                    });
                    EXPECT_THROW(wait(*rank.prepared, second), Error);
                    other.join();
                    together.arrive_and_wait();
                });
}

TEST(ProgressAdvice, IsGivenWhereAThreadWouldHavePaid) {
    const Progressed good{.waited = 1.5, .elsewhere = 2, .processors = 4, .ranks = 2};
    EXPECT_EQ(advise_progress_thread(good),
              "rank 0 waited 1.500 s, and its host has 4 CPUs for 2 ranks: LAPWING_PROGRESS_THREAD=any may "
              "hide a part of this wait");
    for (Progressed poor : {Progressed{.waited = 1.5, .elsewhere = 2, .processors = 2, .ranks = 2},
                            Progressed{.waited = 0.001, .elsewhere = 0.001, .processors = 4, .ranks = 2},
                            Progressed{.waited = 0.1, .elsewhere = 2, .processors = 4, .ranks = 2},
                            Progressed{.waited = 1.5, .elsewhere = 0.1, .processors = 4, .ranks = 2}})
        EXPECT_EQ(advise_progress_thread(poor), "");
}

}  // namespace
}  // namespace lapwing
