// Groups and threads side by side.

#include "c/ranks.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace testing_c;

const lapwing_reduction sum_of_uint64 = {LAPWING_UINT64, LAPWING_SUM, 0, nullptr, nullptr, 0};

TEST(Progress, AWaitMovesTheOtherGroupsToo) {
    constexpr int ranks = 3;
    Meeting meeting(ranks);
    as_threads(ranks, {"engine=host", "algorithm=iallgather=ring"}, [&](lapwing_group* first, int rank) {
        Seat seat{&meeting, rank};
        const Options options({"engine=host", "algorithm=iallgather=ring"});
        lapwing_group* second = nullptr;
        EXPECT_WORKS(lapwing_group_create(rank, ranks, exchange, &seat, options.data(), &second));
        if (second == nullptr) return;
        for (int times = 0; times < 20; ++times) {
            lapwing_operation* operations[2] = {};
            std::vector<char> in(50000, static_cast<char>(rank));
            std::vector<char> out[2] = {std::vector<char>(ranks * in.size()),
                                        std::vector<char>(ranks * in.size())};
            EXPECT_WORKS(lapwing_allgather(first, in.data(), in.size(), out[0].data(), &operations[0]));
            EXPECT_WORKS(lapwing_allgather(second, in.data(), in.size(), out[1].data(), &operations[1]));
            // Rank 1 waits for them in the other order.
            EXPECT_WORKS(lapwing_wait(&operations[rank == 1 ? 1 : 0]));
            EXPECT_WORKS(lapwing_wait(&operations[rank == 1 ? 0 : 1]));
            EXPECT_EQ(out[0], out[1]);
            EXPECT_EQ(out[0].back(), ranks - 1);
        }
        EXPECT_WORKS(lapwing_group_destroy(second));
    });
}

TEST(Progress, ThreadsWaitForOperationsOfOneGroup) {
    for (const char* engine : {"engine=host", "engine=auto"}) {
        as_threads(2, {engine}, [](lapwing_group* group, int rank) {
            constexpr std::size_t threads = 3;
            for (int times = 0; times < 20; ++times) {
                std::uint64_t in[threads];
                std::uint64_t out[threads] = {};
                lapwing_operation* operations[threads] = {};
                for (std::size_t i = 0; i < threads; ++i) {
                    in[i] = static_cast<std::uint64_t>(rank) * 100 + i;
                    EXPECT_WORKS(
                        lapwing_allreduce(group, &in[i], &out[i], 1, &sum_of_uint64, &operations[i]));
                }
                std::vector<std::thread> waiting;
                for (std::size_t i = 0; i < threads; ++i) {
                    waiting.emplace_back([&, i] {
                        if (i == 0) {
                            for (int complete = 0; complete == 0;)
                                EXPECT_WORKS(lapwing_test(&operations[i], &complete));
                        } else {
                            EXPECT_WORKS(lapwing_wait(&operations[i]));
                        }
                        EXPECT_EQ(out[i], 100 + 2 * i);
                    });
                }
                for (std::thread& thread : waiting) thread.join();
            }
        });
    }
}

TEST(Progress, AnOrdinaryLifeSaysNothing) {
    std::atomic<int> lines{0};
    lapwing_set_log([](void* context, const char*) { ++*static_cast<std::atomic<int>*>(context); }, &lines);
    as_threads(2, {}, [](lapwing_group* group, int) {
        lapwing_operation* operation = nullptr;
        EXPECT_WORKS(lapwing_barrier(group, &operation));
        EXPECT_WORKS(lapwing_wait(&operation));
    });
    lapwing_set_log(nullptr, nullptr);
    EXPECT_EQ(lines, 0);
}

TEST(Plans, SayWhatTheyAre) {
    as_threads(2, {"engine=host", "algorithm=ialltoall=pairwise:window=2"}, [](lapwing_group* group, int) {
        lapwing_problem problem = lapwing_problem_of(LAPWING_ALLTOALL);
        problem.bytes = 8;
        lapwing_plan* plan = nullptr;
        EXPECT_WORKS(lapwing_plan_create(group, &problem, &plan));
        if (plan == nullptr) return;
        EXPECT_STREQ(lapwing_plan_text(plan), "pairwise:window=2 on host");
        EXPECT_EQ(lapwing_group_destroy(group), LAPWING_INVALID_ARGUMENT);
        EXPECT_WORKS(lapwing_plan_destroy(plan));
    });
}

TEST(Version, OfHeaderAndLibraryAreOne) {
    EXPECT_STREQ(lapwing_version(), LAPWING_VERSION);
    EXPECT_STREQ(lapwing_status_name(LAPWING_EXCHANGE), "LAPWING_EXCHANGE");
}

}  // namespace
}  // namespace lapwing
