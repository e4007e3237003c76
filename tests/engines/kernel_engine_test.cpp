// What is the kernel engine's alone: lists that go on while nobody calls, threads that end, lanes, the
// attendant's part, peers that vanish. Ranks are threads of one process.
#include "engines/kernel/engine.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "expected.hpp"
#include "links/socket_pairs.hpp"
#include "task/builder.hpp"

namespace lapwing {
namespace {

using namespace testing_engines;
using namespace std::chrono_literals;

// One rank's buffers and runs of one problem.
class Rank {
  public:
    Rank(const Problem& problem, const Choice& choice, int rank, const Ground& ground)
        : problem_(problem),
          rank_(rank),
          prepared_(kernel_engine().prepare(build(problem, rank, choice), ground)) {}

    void start() {
        const int run = static_cast<int>(in_.size());
        in_.push_back(std::make_unique<std::vector<std::byte>>(in_of(problem_, rank_, run)));
        out_.push_back(std::make_unique<std::vector<std::byte>>(out_bytes(problem_, rank_), untouched));
        operations_.push_back(
            prepared_->start({in_.back()->data(), out_.back()->data()}, static_cast<std::uint32_t>(run)));
    }
    // Looks at memory only, while others write it: the thread sanitizer is not to mind.
    __attribute__((no_sanitize("thread"))) bool right() const {
        for (std::size_t run = 0; run < out_.size(); ++run) {
            const std::vector<std::byte> wanted = out_of(problem_, rank_, static_cast<int>(run));
            const volatile std::byte* have = out_[run]->data();
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                if (have[i] != wanted[i]) return false;
            }
        }
        return true;
    }
    bool becomes_right(std::chrono::milliseconds limit = 20s) const {
        const auto end = std::chrono::steady_clock::now() + limit;
        while (!right()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }
    void wait_all(bool last_first = false) {
        if (last_first) std::reverse(operations_.begin(), operations_.end());
        for (Operation* operation : operations_) wait(*prepared_, operation);
        operations_.clear();
    }
    Prepared& prepared() { return *prepared_; }
    Operation* operation() { return operations_.back(); }

  private:
    Problem problem_;
    int rank_;
    std::unique_ptr<Prepared> prepared_;
    // The kernel writes into them while other runs are added: they must not move.
    std::vector<std::unique_ptr<std::vector<std::byte>>> in_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> out_;
    std::vector<Operation*> operations_;
};

struct Setting {
    Problem problem;
    const char* algorithm = "flat";
    int lanes = 2;
    int buffer_bytes = 0;
    bool attendant_works = false;
    bool attendant_submits = false;
};

// Runs `body` on a thread for each rank. The barrier is the ranks' own.
void on_all_ranks(const Setting& setting, const std::function<void(Rank&, int, std::barrier<>&)>& body) {
    const int ranks = setting.problem.ranks;
    const Choice choice = parse_choice(setting.problem.collective, setting.algorithm);
    const auto connections = socket_pairs(ranks, setting.lanes, setting.buffer_bytes);
    std::barrier<> together(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            const Ground ground{.connections = connections[static_cast<std::size_t>(rank)].get(),
                                .attendant_works = setting.attendant_works,
                                .attendant_submits = setting.attendant_submits};
            try {
                Rank one(setting.problem, choice, rank, ground);
                body(one, rank, together);
                together.arrive_and_wait();
            } catch (const Error& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
                together.arrive_and_drop();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

constexpr Problem alltoall(int ranks, std::uint64_t bytes) {
    return {.collective = Collective::alltoall, .ranks = ranks, .bytes = bytes};
}

class KernelEngine : public testing::Test {
  protected:
    void SetUp() override {
        if (!kernel_engine().available()) GTEST_SKIP() << kernel_engine().available().reason();
    }
};

// The heart of it: after the start nobody calls Lapwing, and every byte comes to its place, over several
// dependent steps and through sockets that hold a fraction of a message.
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
    };
    for (const auto& one_case : cases) {
        const Collective collective = one_case.first;
        const char* const algorithm = one_case.second;
        for (const std::uint64_t bytes : {100U, 40000U}) {
            const Setting setting{.problem = {.collective = collective, .ranks = 5, .bytes = bytes},
                                  .algorithm = algorithm,
                                  .buffer_bytes = 4096};
            on_all_ranks(setting, [&](Rank& one, int rank, std::barrier<>& together) {
                one.start();
                EXPECT_TRUE(one.becomes_right()) << algorithm << " " << bytes << " on rank " << rank;
                together.arrive_and_wait();
                one.wait_all();
            });
        }
    }
}

TEST_F(KernelEngine, MoreRunsThanLanesRunAlone) {
    const Setting setting{
        .problem = alltoall(3, 20000), .algorithm = "pairwise:window=1", .buffer_bytes = 4096};
    on_all_ranks(setting, [](Rank& one, int, std::barrier<>& together) {
        for (int i = 0; i < 7; ++i) one.start();
        EXPECT_TRUE(one.becomes_right());
        together.arrive_and_wait();
        one.wait_all();
    });
}

// Bruck's algorithm copies between its steps. The rank that starts last may find all it needs; the first
// cannot.
TEST_F(KernelEngine, WithoutHelpLocalWorkWaitsForACall) {
    std::atomic<int> incomplete{0};
    on_all_ranks({.problem = alltoall(4, 2000), .algorithm = "bruck"},
                 [&](Rank& one, int, std::barrier<>& together) {
                     one.start();
                     if (!one.becomes_right(200ms)) ++incomplete;
                     together.arrive_and_wait();
                     one.wait_all();
                     EXPECT_TRUE(one.right());
                 });
    EXPECT_GT(incomplete, 0);
}

TEST_F(KernelEngine, TheAttendantDoesLocalWork) {
    on_all_ranks({.problem = alltoall(4, 2000), .algorithm = "bruck", .attendant_works = true},
                 [](Rank& one, int, std::barrier<>& together) {
                     one.start();
                     EXPECT_TRUE(one.becomes_right());
                     together.arrive_and_wait();
                     one.wait_all();
                 });
}

TEST_F(KernelEngine, AThreadMayEndBeforeItsCollective) {
    for (const std::uint64_t bytes : {10U, 50000U}) {
        on_all_ranks({.problem = alltoall(3, bytes), .algorithm = "pairwise:window=1", .buffer_bytes = 4096},
                     [](Rank& one, int rank, std::barrier<>& together) {
                         std::thread starter([&] { one.start(); });
                         if (rank == 0) std::this_thread::sleep_for(20ms);
                         starter.join();
                         one.wait_all();
                         EXPECT_TRUE(one.right());
                         together.arrive_and_wait();
                     });
    }
}

TEST_F(KernelEngine, TheAttendantSubmits) {
    const Setting setting{.problem = alltoall(3, 50000),
                          .algorithm = "pairwise:window=1",
                          .buffer_bytes = 4096,
                          .attendant_submits = true};
    on_all_ranks(setting, [](Rank& one, int, std::barrier<>& together) {
        // The kernel interrupts the attendant, so the thread that starts may end.
        std::thread([&] { one.start(); }).join();
        EXPECT_TRUE(one.becomes_right());
        together.arrive_and_wait();
        one.wait_all();
    });
}

// A caller who waits takes the list's work to himself, and gives it back when he goes to sleep.
TEST_F(KernelEngine, WhatIsTakenBackIsGivenBack) {
    on_all_ranks({.problem = alltoall(2, 8)}, [](Rank& one, int rank, std::barrier<>& together) {
        if (rank == 0) {
            one.start();
            for (int i = 0; i < 100; ++i) EXPECT_FALSE(one.prepared().press(one.operation()));
            EXPECT_GE(one.prepared().rest(one.operation()), 0);
        }
        together.arrive_and_wait();
        if (rank == 1) one.start();
        EXPECT_TRUE(one.becomes_right());
        together.arrive_and_wait();
        one.wait_all();
    });
}

TEST_F(KernelEngine, PlansAreStartedManyTimes) {
    on_all_ranks({.problem = alltoall(3, 3000), .algorithm = "pairwise:window=1"},
                 [](Rank& one, int, std::barrier<>&) {
                     for (int i = 0; i < 300; ++i) {
                         one.start();
                         if (i % 3 != 0) one.wait_all();
                     }
                     one.wait_all();
                     EXPECT_TRUE(one.right());
                 });
}

TEST_F(KernelEngine, TheLastMayBeWaitedForFirst) {
    for (const std::uint64_t bytes : {1U, 3000U, 40000U}) {
        for (const int ranks : {2, 3}) {
            on_all_ranks({.problem = {.collective = Collective::gather, .ranks = ranks, .bytes = bytes}},
                         [](Rank& one, int, std::barrier<>&) {
                             for (int i = 0; i < 200; ++i) {
                                 for (int run = 0; run < 5; ++run) one.start();
                                 one.wait_all(true);
                             }
                             EXPECT_TRUE(one.right());
                         });
        }
    }
}

// The first run of a lane is then moved by a caller who waits for another, though the attendant has seen its
// completions.
TEST_F(KernelEngine, TheLastMayBeWaitedForFirstWhenTheFirstNeedsLocalWork) {
    on_all_ranks({.problem = alltoall(3, 3000), .algorithm = "bruck"}, [](Rank& one, int, std::barrier<>&) {
        for (int i = 0; i < 100; ++i) {
            for (int run = 0; run < 5; ++run) one.start();
            one.wait_all(true);
        }
        EXPECT_TRUE(one.right());
    });
}

TEST_F(KernelEngine, APeerThatVanishesIsAnErrorThatNamesIt) {
    for (const std::uint64_t bytes : {8U, 100000U}) {
        auto connections = socket_pairs(2, 2);
        const Ground ground{.connections = connections[0].get()};
        Rank one(alltoall(2, bytes), parse_choice(Collective::alltoall, "flat"), 0, ground);
        one.start();
        std::thread killer([&] {
            std::this_thread::sleep_for(50ms);
            connections[1].reset();
        });
        try {
            one.wait_all();
            ADD_FAILURE() << "completed without the other rank";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::link);
            EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
        }
        killer.join();
    }
}

TEST_F(KernelEngine, AChildThatForksAndEndsChangesNothing) {
    on_all_ranks({.problem = alltoall(2, 30000), .buffer_bytes = 4096},
                 [](Rank& one, int rank, std::barrier<>& together) {
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

TEST_F(KernelEngine, AListWithAReceiveBelowItsTopIsDeclined) {
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
