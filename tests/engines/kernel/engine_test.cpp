// The kernel engine: lists that advance without calls, threads that end, lanes, the event thread, peers that
// vanish. Ranks are threads of one process.
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "engines/kernel/chain_plan.hpp"
#include "engines/kernel/ranks.hpp"
#include "support/engines.hpp"
#include "support/unit.hpp"
#include "task/builder.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using namespace std::chrono_literals;

Problem alltoall(int ranks, std::uint64_t bytes) {
    return {.collective = Collective::alltoall, .ranks = ranks, .bytes = bytes};
}

class KernelEngine : public testing::Test {
  protected:
    void SetUp() override { LAPWING_NEEDS_ENGINE(kernel_engine()); }
};

// One rank waits after the other: the ranks before it are complete, and the ranks after it make no calls.
void wait_in_turn(RankRuns& one, int rank, int ranks, std::barrier<>& together, bool last_first = false) {
    for (int turn = 0; turn < ranks; ++turn) {
        together.arrive_and_wait();
        if (turn == rank) one.wait_all(last_first);
    }
    EXPECT_TRUE(one.right()) << "rank " << rank;
    together.arrive_and_wait();
}

// Starts `runs` runs on all ranks; they must complete without further calls.
void run_alone(const Setting& setting, int runs = 1) {
    on_all_ranks(setting, [runs](RankRuns& one, int, std::barrier<>& together) {
        for (int i = 0; i < runs; ++i) one.start();
        EXPECT_TRUE(one.becomes_right());
        together.arrive_and_wait();
        one.wait_all();
    });
}

// The basic promise: after the start no rank calls Lapwing, and every byte arrives, over several dependent
// steps and through sockets that hold a fraction of a message.
TEST_F(KernelEngine, ListsRunAlone) {
    const std::pair<Collective, const char*> cases[] = {
        {Collective::alltoall, "pairwise:window=1"},
        {Collective::broadcast, "k_nomial:k=3"},
        {Collective::alltoall, "flat"},
        {Collective::broadcast, "binomial"},
        {Collective::broadcast, "scatter_ring"},
        {Collective::broadcast, "scatter_recursive_doubling"},
        {Collective::gather, "binomial"},
        {Collective::gather, "sequential"},
        {Collective::broadcast, "two_level"},
        {Collective::gather, "two_level"},
        {Collective::allgather, "two_level"},
        {Collective::alltoall, "two_level"},
    };
    for (const auto& [collective, algorithm] : cases) {
        const bool two_level = algorithm == std::string_view("two_level");
        for (const std::uint64_t bytes : {100U, 40000U}) {
            Setting setting{.problem = {.collective = collective, .ranks = two_level ? 4 : 5, .bytes = bytes},
                            .algorithm = algorithm,
                            .buffer_bytes = 4096};
            if (two_level)
                setting.problem.placement =
                    std::make_shared<Placement>(std::vector<std::uint64_t>{0, 0, 1, 1});
            on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
                one.start();
                EXPECT_TRUE(bytes < 10000 || one.becomes_right())
                    << name(setting.problem.collective) << " " << setting.algorithm << " on rank " << rank;
                wait_in_turn(one, rank, setting.problem.ranks, together);
            });
        }
    }
}

// The last messages of a list wait in the sockets for a call, if they fit, unless the next list needs the
// lane.
TEST_F(KernelEngine, ListsThatOnlyReceiveWaitForACall) {
    for (const std::uint64_t bytes : {100U, 20000U}) {
        std::atomic<int> incomplete{0};
        const Setting setting{.problem = alltoall(3, bytes), .algorithm = "flat"};
        on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
            one.start();
            if (!one.becomes_right(200ms)) ++incomplete;
            wait_in_turn(one, rank, 3, together);
        });
        EXPECT_GT(incomplete, 0) << bytes;
        on_all_ranks(setting, [](RankRuns& one, int rank, std::barrier<>& together) {
            for (int i = 0; i < 7; ++i) one.start();
            wait_in_turn(one, rank, 3, together, true);
        });
    }
}

// Messages that do not fit into the sockets do not wait there, because their senders would wait, too.
TEST_F(KernelEngine, LongListsThatOnlyReceiveRunAlone) {
    const Setting setting{.problem = alltoall(3, 20000), .algorithm = "flat", .buffer_bytes = 65536};
    run_alone(setting);
}

// The bytes that wait at rank 1 for it to receive them.
int sent_to_rank_1(const std::vector<std::unique_ptr<Connections>>& connections) {
    int sent = 0;
    for (const int lane : {0, 1}) {
        int bytes = 0;
        EXPECT_EQ(::ioctl(connections[1]->descriptor(0, lane), FIONREAD, &bytes), 0);
        sent += bytes;
    }
    return sent;
}

// Short runs do not wait for those before them on their lane: a program that starts many does so at the pace
// of its sends.
TEST_F(KernelEngine, ShortRunsBeginWhileOthersHaveTheirLane) {
    constexpr int runs = 7;
    const ListSet lists = build_all(alltoall(2, 100), parse_choice(Collective::alltoall, "flat"));
    const auto connections = socket_pairs(2, 2);
    const auto first_group = open_kernel_group(*connections[0], {}, nullptr, {});
    RankRuns first(lists.problem, 0, first_group->prepare(lists.problem, lists.lists[0], {}));
    for (int i = 0; i < runs; ++i) first.start();
    EXPECT_EQ(sent_to_rank_1(connections), runs * 100);
    // The messages of the other rank wait in the sockets.
    const auto second_group = open_kernel_group(*connections[1], {}, nullptr, {});
    RankRuns second(lists.problem, 1, second_group->prepare(lists.problem, lists.lists[1], {}));
    for (int i = 0; i < runs; ++i) second.start();
    second.wait_all(true);
    first.wait_all();
    EXPECT_TRUE(first.right() && second.right());
}

// From the eighth start on the messages of short runs wait for each other, until the program calls for any of
// them, sleeps, starts a list that does not wait, or the event thread sends them.
TEST_F(KernelEngine, MessagesOfManyShortRunsLeaveTogether) {
    constexpr int runs = 16;
    const ListSet lists = build_all(alltoall(2, 100), parse_choice(Collective::alltoall, "flat"));
    const ListSet of_longer = build_all(alltoall(2, 20000), parse_choice(Collective::alltoall, "flat"));
    enum class End { test, sleep, longer_list, event_thread };
    for (const End end : {End::test, End::sleep, End::longer_list, End::event_thread}) {
        const auto connections = socket_pairs(2, 2);
        // The event thread is busy meanwhile.
        std::promise<void> busy;
        connections[0]->event_loop().post([busy = busy.get_future().share()] { busy.wait(); });
        const auto first_group = open_kernel_group(*connections[0], {}, nullptr, {});
        RankRuns first(lists.problem, 0, first_group->prepare(lists.problem, lists.lists[0], {}));
        RankRuns last(of_longer.problem, 0, first_group->prepare(of_longer.problem, of_longer.lists[0], {}));
        for (int i = 0; i < runs; ++i) first.start();
        EXPECT_EQ(sent_to_rank_1(connections), 7 * 100);
        if (end == End::test) {
            EXPECT_FALSE(first.test(first.operation()));
        } else if (end == End::sleep) {
            EXPECT_GE(first.prepared().prepare_to_sleep(first.operation()), 0);
        } else if (end == End::longer_list) {
            last.start(runs);
        } else {
            busy.set_value();
            while (sent_to_rank_1(connections) < runs * 100) std::this_thread::yield();
        }
        EXPECT_GE(sent_to_rank_1(connections), runs * 100);
        if (end != End::event_thread) busy.set_value();
        const auto second_group = open_kernel_group(*connections[1], {}, nullptr, {});
        RankRuns second(lists.problem, 1, second_group->prepare(lists.problem, lists.lists[1], {}));
        for (int i = 0; i < runs; ++i) second.start();
        RankRuns second_last(of_longer.problem, 1,
                             second_group->prepare(of_longer.problem, of_longer.lists[1], {}));
        if (end == End::longer_list) second_last.start(runs);
        std::thread waits([&] {
            second.wait_all(true);
            second_last.wait_all();
        });
        first.wait_all();
        last.wait_all();
        waits.join();
        EXPECT_TRUE(first.right() && second.right() && last.right() && second_last.right());
    }
}

// Of several short lists on one lane, those behind the first advance in calls only. The calls of rank 0 are
// for a list on the other lane, or it sleeps for that list, while the others wait for the second one.
TEST_F(KernelEngine, CallsForOneLaneServeTheOthers) {
    for (const bool sleeps : {false, true}) {
        std::atomic<int> done{0};
        const Setting setting{.problem = {.collective = Collective::barrier, .ranks = 4},
                              .algorithm = "dissemination"};
        on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
            const auto complete = [&one](Operation* operation) {
                while (!one.test(operation)) std::this_thread::yield();
            };
            if (rank > 0) together.arrive_and_wait();
            Operation* const first = one.start(0);
            if (rank == 0) {
                one.start(2);
                one.start(4);
                together.arrive_and_wait();
            }
            complete(first);
            together.arrive_and_wait();
            if (rank == 0) {
                Operation* const other = one.start(1);
                if (sleeps) {
                    EXPECT_GE(one.prepared().prepare_to_sleep(other), 0);
                }
                together.arrive_and_wait();
                while (done < 3) {
                    if (!sleeps) {
                        EXPECT_FALSE(one.test(other));
                    }
                    std::this_thread::yield();
                }
            } else {
                together.arrive_and_wait();
                Operation* const second = one.start(2);
                one.start(4);
                complete(second);
                ++done;
                one.start(1);
            }
            one.wait_all();
        });
    }
}

// Ranks have many runs of several lists in flight, short ones and long ones, and complete them in orders of
// their own.
TEST_F(KernelEngine, RunsOfDifferentListsShareLanes) {
    const std::pair<Problem, const char*> kinds[] = {
        {{.collective = Collective::barrier, .ranks = 4}, "dissemination"},
        {alltoall(4, 100), "pairwise:window=1"},
        {alltoall(4, 100), "flat"},
        {alltoall(4, 20000), "pairwise:window=1"},
        {{.collective = Collective::broadcast, .ranks = 4, .root = 2, .bytes = 300}, "binomial"},
        {{.collective = Collective::broadcast, .ranks = 4, .bytes = 60000}, "binomial"},
    };
    for (const ProgressLists event_thread_lists : {ProgressLists::none, ProgressLists::all}) {
        const auto connections = socket_pairs(4, 2);
        on_ranks(4, [&](int rank, std::barrier<>& together) {
            const auto at = static_cast<std::size_t>(rank);
            const auto group =
                open_kernel_group(*connections[at], {.event_thread_lists = event_thread_lists}, nullptr, {});
            std::deque<RankRuns> of_kinds;
            for (const auto& [problem, algorithm] : kinds) {
                const ListSet lists = build_all(problem, parse_choice(problem.collective, algorithm));
                of_kinds.emplace_back(problem, rank, group->prepare(problem, lists.lists[at], {}));
            }
            std::mt19937 same(1);
            std::mt19937 own(static_cast<unsigned>(rank));
            for (std::uint32_t run = 0; run < 300; ++run) {
                of_kinds[same() % of_kinds.size()].start(run);
                while (own() % 2 == 0) of_kinds[own() % of_kinds.size()].test_one(own);
                if (own() % 32 == 0) of_kinds[own() % of_kinds.size()].wait_all();
            }
            for (RankRuns& one : of_kinds) one.wait_all(rank % 2 == 1);
            for (const RankRuns& one : of_kinds) EXPECT_TRUE(one.right()) << "rank " << rank;
            together.arrive_and_wait();
        });
    }
}

TEST_F(KernelEngine, MoreRunsThanLanesRunAlone) {
    const Setting setting{
        .problem = alltoall(3, 20000), .algorithm = "pairwise:window=1", .buffer_bytes = 4096};
    run_alone(setting, 7);
}

// Bruck's algorithm copies between its steps. The rank that starts last may find all messages; the first
// cannot.
TEST_F(KernelEngine, WithoutTheEventThreadLocalWorkWaitsForACall) {
    std::atomic<int> incomplete{0};
    on_all_ranks({.problem = alltoall(4, 2000), .algorithm = "bruck"},
                 [&](RankRuns& one, int, std::barrier<>& together) {
                     one.start();
                     if (!one.becomes_right(200ms)) ++incomplete;
                     together.arrive_and_wait();
                     one.wait_all();
                     EXPECT_TRUE(one.right());
                 });
    EXPECT_GT(incomplete, 0);
}

TEST_F(KernelEngine, TheEventThreadDoesLocalWork) {
    run_alone({.problem = alltoall(4, 2000), .algorithm = "bruck", .event_thread_lists = ProgressLists::all});
}

// line_of_sums with the program's own function.
ListSet line_of_compositions() {
    std::string text = line_of_sums;
    const auto replace = [&](const std::string& before, const std::string& after) {
        for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before))
            text.replace(at, before.size(), after);
    };
    replace("op sum type uint32", "op user type opaque:8 ordered");
    replace("sum uint32", "user opaque");
    return parse(text);
}

TEST_F(KernelEngine, TheEventThreadReduces) {
    run_alone({.lists = parse(line_of_sums), .event_thread_lists = ProgressLists::all});
}

// Short reductions by the event thread: plain system calls whenever a socket is ready. Runs of several lanes,
// waiters that poll, that sleep, and that come after the end.
TEST_F(KernelEngine, TheEventThreadAdvancesShortReductions) {
    for (const char* const algorithm : {"recursive_doubling", "ring", "flat"}) {
        const Setting setting{.problem = {.collective = Collective::allreduce,
                                          .ranks = 4,
                                          .bytes = 40,
                                          .op = Operator::sum,
                                          .type = Type::int32},
                              .algorithm = algorithm,
                              .event_thread_lists = ProgressLists::all};
        run_alone(setting, 7);
        on_all_ranks(setting, [](RankRuns& one, int rank, std::barrier<>& together) {
            for (int i = 0; i < 60; ++i) {
                for (int run = 0; run < 3; ++run) one.start();
                if ((i + rank) % 3 == 0) std::this_thread::sleep_for(200us);
                if ((i + rank) % 3 == 1) one.prepared().prepare_to_sleep(one.operation());
                one.wait_all(i % 2 == 0);
            }
            EXPECT_TRUE(one.right());
            together.arrive_and_wait();
        });
    }
}

// Returns how many operations all rings of this process were given, and how many rings there are.
std::pair<std::uint64_t, int> submitted_to_rings() {
    std::pair<std::uint64_t, int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;  // another thread may have closed the descriptor
        if (std::filesystem::read_symlink(entry, gone) != "anon_inode:[io_uring]") continue;
        std::ifstream about("/proc/self/fdinfo/" + entry.path().filename().string());
        for (std::string name; about >> name;) {
            std::uint64_t number = 0;
            if (name != "SqTail:" || !(about >> number)) continue;
            found.first += number;
            ++found.second;
        }
    }
    return found;
}

// A start sends by a plain system call. The kernel could only take the first message out of its socket: then
// a thread must reduce.
TEST_F(KernelEngine, StartsOfShortReductionsSubmitNothing) {
    for (const ProgressLists lists : {ProgressLists::none, ProgressLists::long_ones, ProgressLists::all}) {
        const Setting setting{.problem = {.collective = Collective::allreduce,
                                          .ranks = 4,
                                          .bytes = 4096,
                                          .op = Operator::sum,
                                          .type = Type::int32},
                              .algorithm = "recursive_doubling",
                              .event_thread_lists = lists};
        on_all_ranks(setting, [](RankRuns& one, int rank, std::barrier<>& together) {
            // One thread at a time can read about a ring.
            const auto submitted = [&] {
                together.arrive_and_wait();
                const auto found = rank == 0 ? submitted_to_rings() : std::pair<std::uint64_t, int>{0, 4};
                together.arrive_and_wait();
                EXPECT_GE(found.second, 4);
                return found.first;
            };
            const std::uint64_t before = submitted();
            for (int i = 0; i < 2; ++i) one.start();
            EXPECT_EQ(submitted(), before);
            one.wait_all();
            EXPECT_TRUE(one.right());
        });
    }
}

// By default this is learned: programs that are away for a while come to the event thread.
TEST_F(KernelEngine, ShortReductionsComeToTheEventThreadByThemselves) {
    std::atomic<int> alone{0};
    on_all_ranks({.lists = parse(line_of_sums), .event_thread_lists = ProgressLists::long_ones},
                 [&](RankRuns& one, int, std::barrier<>& together) {
                     for (int run = 0; run < 200; ++run) {
                         together.arrive_and_wait();
                         one.start();
                         // Without a call of the engine, the last rank's result needs the event thread of the
                         // middle one.
                         if (one.becomes_right(3ms)) ++alone;
                         together.arrive_and_wait();
                         one.wait_all();
                         EXPECT_TRUE(one.right());
                     }
                 });
    // The first rank's sum is always right at once.
    EXPECT_GT(alone, 200);
}

// Even if the event thread does other work or starts a run that has waited for its lane.
TEST_F(KernelEngine, TheEventThreadNeverCallsTheProgramsFunction) {
    for (const bool event_thread_submits : {false, true}) {
        const Setting setting{.lists = line_of_compositions(),
                              .lanes = 1,
                              .event_thread_lists = ProgressLists::all,
                              .event_thread_submits = event_thread_submits};
        on_all_ranks(setting, [&](RankRuns& one, int rank, std::barrier<>& together) {
            const auto start = [&] {
                for (int run = 0; run < 3; ++run) one.start();
            };
            // Messages that arrive later find no thread inside a call.
            if (rank > 0) start();
            together.arrive_and_wait();
            if (rank == 0) start();
            EXPECT_EQ(one.becomes_right(rank == 0 ? 20s : 200ms), rank == 0);
            EXPECT_EQ(one.reducer().calls() + one.reducer().calls_of_others(), 0);
            together.arrive_and_wait();
            one.wait_all();
            EXPECT_TRUE(one.right());
            EXPECT_EQ(one.reducer().calls(), rank == 0 ? 0 : 3);
            EXPECT_EQ(one.reducer().calls_of_others(), 0);
        });
    }
}

// Also when a caller waits for another run.
TEST_F(KernelEngine, ThreadsOfTheProgramReduce) {
    on_all_ranks({.lists = line_of_compositions(), .lanes = 2, .event_thread_lists = ProgressLists::all},
                 [](RankRuns& one, int rank, std::barrier<>& together) {
                     one.start();
                     one.start();
                     std::thread([&] { one.wait_all(true); }).join();
                     EXPECT_TRUE(one.right());
                     EXPECT_EQ(one.reducer().calls() + one.reducer().calls_of_others(), rank == 0 ? 0 : 2);
                     together.arrive_and_wait();
                 });
}

TEST(KernelPlan, RecordsWhetherItNeedsTheProgram) {
    const auto needs_program = [](const List& list) {
        return kernel::ChainPlan(lower_to_chains(list)).host.needs_program;
    };
    const ListSet compositions = line_of_compositions();
    EXPECT_FALSE(needs_program(compositions.lists[0]));
    EXPECT_TRUE(needs_program(compositions.lists[1]));  // between its steps
    EXPECT_TRUE(needs_program(compositions.lists[2]));  // at the end
    EXPECT_FALSE(needs_program(parse(line_of_sums).lists[1]));
    // At the beginning.
    EXPECT_TRUE(needs_program(parse("problem allreduce ranks 1 bytes 8 op user type opaque:8\n"
                                    "list 0 in 8 out 8 scratch 0\n"
                                    "  copy out[0+8] in[0+8]\n"
                                    "  reduce user opaque out[0+8] in[0+8]\n"
                                    "end\n")
                                  .lists[0]));
}

TEST_F(KernelEngine, AThreadMayEndBeforeItsCollective) {
    for (const std::uint64_t bytes : {10U, 50000U}) {
        on_all_ranks({.problem = alltoall(3, bytes), .algorithm = "pairwise:window=1", .buffer_bytes = 4096},
                     [](RankRuns& one, int rank, std::barrier<>& together) {
                         std::thread starter([&] { one.start(); });
                         if (rank == 0) std::this_thread::sleep_for(20ms);
                         starter.join();
                         one.wait_all();
                         EXPECT_TRUE(one.right());
                         together.arrive_and_wait();
                     });
    }
}

TEST_F(KernelEngine, TheEventThreadSubmits) {
    const Setting setting{.problem = alltoall(3, 50000),
                          .algorithm = "pairwise:window=1",
                          .buffer_bytes = 4096,
                          .event_thread_submits = true};
    on_all_ranks(setting, [](RankRuns& one, int, std::barrier<>& together) {
        // The kernel interrupts the event thread, so the thread that starts may end.
        std::thread([&] { one.start(); }).join();
        EXPECT_TRUE(one.becomes_right());
        together.arrive_and_wait();
        one.wait_all();
    });
}

// A caller that waits does the steps inline, and submits them again before it sleeps.
TEST_F(KernelEngine, InlineStepsReturnToTheKernel) {
    on_all_ranks({.problem = alltoall(2, 8)}, [](RankRuns& one, int rank, std::barrier<>& together) {
        if (rank == 0) {
            one.start();
            for (int i = 0; i < 100; ++i) EXPECT_FALSE(one.prepared().progress(one.operation()));
            EXPECT_GE(one.prepared().prepare_to_sleep(one.operation()), 0);
        }
        together.arrive_and_wait();
        if (rank == 1) one.start();
        EXPECT_TRUE(one.becomes_right());
        together.arrive_and_wait();
        one.wait_all();
    });
}

// Where the first run needs local work, a caller that waits for another one advances it, although the event
// thread has handled its completions.
TEST_F(KernelEngine, TheLastMayBeWaitedForFirst) {
    std::vector<Setting> settings = {{.problem = alltoall(3, 3000), .algorithm = "bruck"}};
    for (const std::uint64_t bytes : {1U, 3000U, 40000U}) {
        for (const int ranks : {2, 3})
            settings.push_back(
                {.problem = {.collective = Collective::gather, .ranks = ranks, .bytes = bytes}});
    }
    for (const Setting& setting : settings) {
        on_all_ranks(setting, [](RankRuns& one, int, std::barrier<>&) {
            for (int i = 0; i < (LAPWING_TEST_FEWER ? 20 : 60); ++i) {
                for (int run = 0; run < 5; ++run) one.start();
                one.wait_all(true);
            }
            EXPECT_TRUE(one.right());
        });
    }
}

TEST_F(KernelEngine, APeerThatVanishesIsAnErrorThatNamesIt) {
    for (const std::uint64_t bytes : {8U, 100000U}) {
        auto connections = socket_pairs(2, 2);
        const Problem problem = alltoall(2, bytes);
        RankRuns one(
            problem, 0,
            open_kernel_group(*connections[0])
                ->prepare(problem, build(problem, 0, parse_choice(Collective::alltoall, "flat")), {}));
        one.start();
        std::thread killer([&] {
            std::this_thread::sleep_for(50ms);
            connections[1].reset();
        });
        EXPECT_THAT([&] { one.wait_all(); },
                    testing::Throws<Error>(
                        testing::AllOf(testing::Property(&Error::code, ErrorCode::link),
                                       testing::Property(&Error::what, testing::HasSubstr("rank 1")))));
        killer.join();
    }
}

TEST_F(KernelEngine, AChildThatForksAndEndsChangesNothing) {
    on_all_ranks({.problem = alltoall(2, 30000), .buffer_bytes = 4096},
                 [](RankRuns& one, int rank, std::barrier<>& together) {
                     if (rank == 0) {
                         one.start();
                         const pid_t child = ::fork();
                         if (child == 0) ::_exit(0);
                         int status = -1;
                         ASSERT_EQ(::waitpid(child, &status, 0), child);
                         EXPECT_EQ(status, 0);
                     }
                     together.arrive_and_wait();
                     if (rank == 1) one.start();
                     EXPECT_TRUE(one.becomes_right());
                     together.arrive_and_wait();
                     one.wait_all();
                 });
}

TEST_F(KernelEngine, DeclinesAListWithAReceiveBelowItsTop) {
    Builder builder(alltoall(2, 0), 0);
    builder.send(1);
    builder.recv(1);
    List list = builder.finish();
    EXPECT_FALSE(kernel_engine().supports(list));
    std::swap(list.tasks[0], list.tasks[1]);
    EXPECT_TRUE(kernel_engine().supports(list));
}

}  // namespace
}  // namespace lapwing
