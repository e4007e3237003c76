// What goes wrong ends in a status and a message within seconds, at every rank.
#include <gmock/gmock.h>
#include "c/ranks.hpp"
#include "engines/catalogue.hpp"
#include "links/fabric_job.hpp"

namespace lapwing {
namespace {

using namespace testing_c;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const lapwing_reduction sum = {LAPWING_FLOAT64, LAPWING_SUM, 0, nullptr, nullptr, 0};

std::string wait_for(lapwing_operation* operation) {
    return told(lapwing_wait(&operation));
}

using Strings = std::vector<std::string>;

// The options of each engine and network that this machine has.
std::vector<Strings> all_options() {
    std::vector<Strings> all;
    for (const Engine* engine : engines())
        if (engine->available()) all.push_back({std::string("engine=") + engine->name()});
    for (const FabricKind& network : fabrics())
        if (testing_links::why_not({network.name, network.name}).empty())
            all.push_back({"engine=host", "shared_memory=0", std::string("network=") + network.name});
    return all;
}

// UCX 1.13 may end a process by an assertion if a peer ends while UCX connects to it.
std::vector<Strings> options_where_ranks_may_end() {
    std::vector<Strings> all = all_options();
    std::erase_if(all, [](const Strings& options) { return options.back() == "network=ucx"; });
    return all;
}

TEST(Faults, ARankThatEndsIsToldToAllTheOthers) {
    for (const Strings& options : options_where_ranks_may_end()) {
        for (const int victim : {0, 2}) {
            const auto said = as_processes(4, options, [&](lapwing_group* group, int rank) {
                double in = rank;
                double out = 0;
                lapwing_operation* operation = nullptr;
                lapwing_allreduce(group, &in, &out, 1, &sum, &operation);
                if (const std::string why = wait_for(operation); !why.empty()) return why;
                if (rank == victim) ::_exit(0);
                // Ranks that exchange nothing with the victim must learn of it, too: here rank 1 waits for
                // rank 3 alone, which waits for the victim.
                const int around[] = {(rank + 1) % 4, (rank + 3) % 4};
                const lapwing_neighbors neighbors = {1, 1, around + 1, around};
                char sent = 0;
                char got = 0;
                const lapwing_part part = {0, 1};
                for (int times = 0; times < 100; ++times) {
                    const lapwing_status status =
                        lapwing_neighbor_allgather(group, &neighbors, &sent, 1, &got, &part, &operation);
                    if (status != LAPWING_SUCCESS) return told(status);
                    if (const std::string why = wait_for(operation); !why.empty()) return why;
                }
                return std::string("has waited for nobody");
            });
            for (int rank = 0; rank < 4; ++rank) {
                if (rank == victim) continue;
                EXPECT_THAT(said[static_cast<std::size_t>(rank)],
                            AllOf(StartsWith("LAPWING_LINK: rank " + std::to_string(victim) + " ("),
                                  HasSubstr("closed the connection")))
                    << testing::PrintToString(options) << ", rank " << rank;
            }
        }
    }
}

TEST(Faults, ARankThatNeverStartsAndEndsIsNotWaitedFor) {
    for (const Strings& options : options_where_ranks_may_end()) {
        // No connection stands between them but the lifeline: rank 0 would have to be called by rank 1.
        const auto said = as_processes(2, options, [](lapwing_group* group, int rank) {
            if (rank == 1) ::_exit(0);
            char data[100] = {};
            lapwing_operation* operation = nullptr;
            const lapwing_status status = lapwing_broadcast(group, data, sizeof data, 1, &operation);
            return status == LAPWING_SUCCESS ? wait_for(operation) : told(status);
        });
        EXPECT_THAT(said[0], StartsWith("LAPWING_LINK: rank 1 (")) << testing::PrintToString(options);
    }
}

TEST(Faults, ARankThatGivesUpIsHeard) {
    for (const Strings& options : all_options()) {
        as_threads(3, options, [&](lapwing_group* group, int rank) {
            double in = 1;
            double out = 0;
            lapwing_operation* operation = nullptr;
            // All ranks have made the group when rank 1 leaves the barrier.
            lapwing_status status = lapwing_barrier(group, &operation);
            if (status == LAPWING_SUCCESS) status = lapwing_wait(&operation);
            if (rank == 1) {
                EXPECT_EQ(status, LAPWING_SUCCESS);
                EXPECT_WORKS(lapwing_group_abort(group, "no more input"));
            } else {
                // The reason may have arrived already.
                status = lapwing_allreduce(group, &in, &out, 1, &sum, &operation);
                EXPECT_EQ(status == LAPWING_SUCCESS ? wait_for(operation) : told(status),
                          "LAPWING_LINK: rank 1 called lapwing_group_abort: no more input");
            }
            // And what comes later.
            EXPECT_EQ(told(lapwing_barrier(group, &operation)),
                      "LAPWING_LINK: rank 1 called lapwing_group_abort: no more input");
            EXPECT_EQ(operation, nullptr);
        });
    }
}

TEST(Faults, LengthsThatDifferAreFoundByTheHostEngine) {
    for (const char* const shared : {"0", "1"}) {
        const bool memory = *shared == '1';
        as_threads(2, {"engine=host", std::string("shared_memory=") + shared},
                   [&](lapwing_group* group, int rank) {
                       char data[20] = {};
                       lapwing_operation* operation = nullptr;
                       // The message may be there when its receiver starts.
                       const lapwing_status status =
                           lapwing_broadcast(group, data, (rank == 0) == memory ? 20U : 10U, 0, &operation);
                       const std::string why = status == LAPWING_SUCCESS ? wait_for(operation) : told(status);
                       if (rank == 0) return;
                       // Through memory a message may be shorter than what is expected.
                       EXPECT_THAT(why, HasSubstr(memory ? "has sent more than the 10 bytes that are expected"
                                                         : "has sent 10 bytes where 20 are expected"));
                   });
    }
}

TEST(Faults, WithoutIoUringAtOneRankTheHostEngineServesAll) {
    // A process asks the system once: a test before this one may have asked for all.
    if (testing::UnitTest::GetInstance()->test_to_run_count() > 1)
        GTEST_SKIP() << "runs alone, as ctest runs it";
    const auto work = [](lapwing_group* group, int rank) {
        double in = rank;
        double out = 0;
        lapwing_operation* operation = nullptr;
        lapwing_allreduce(group, &in, &out, 1, &sum, &operation);
        const std::string why = wait_for(operation);
        return why + lapwing_group_engine(group) + " " + std::to_string(out) + " " +
               lapwing_group_note(group);
    };
    const auto said = as_processes(3, {"engine=kernel"}, work, [](int rank) {
        if (rank == 1) refuse_here(SYS_io_uring_setup);
    });
    EXPECT_THAT(said, Each(AllOf(StartsWith("host 3.000000 rank 1 ("), HasSubstr("io_uring"))));
}

int fails(void*, const void*, void*, std::size_t) {
    return 42;
}
int gives_all_the_same(void*, const void* block, void* blocks, std::size_t bytes) {
    for (std::size_t rank = 0; rank < 2; ++rank)
        std::memcpy(static_cast<char*>(blocks) + rank * bytes, block, bytes);
    return 0;
}

TEST(GroupFaults, WrongArguments) {
    lapwing_group* group = nullptr;
    const auto create = [&](int rank, int size, lapwing_exchange* exchange,
                            const std::vector<std::string>& options) {
        const Options chosen(options);
        const std::string why =
            told(lapwing_group_create(rank, size, exchange, nullptr, chosen.data(), &group));
        EXPECT_EQ(group, nullptr);
        return why;
    };
    EXPECT_EQ(create(0, 0, fails, {}), "LAPWING_INVALID_ARGUMENT: size must be at least 1, not 0");
    EXPECT_EQ(create(2, 2, fails, {}),
              "LAPWING_INVALID_ARGUMENT: rank 2 is out of range: the group has ranks 0 to 1");
    EXPECT_EQ(create(0, 2, nullptr, {}), "LAPWING_INVALID_ARGUMENT: the exchange function is null");
    EXPECT_EQ(create(0, 2, fails, {}), "LAPWING_EXCHANGE: the exchange function failed with 42");
    EXPECT_EQ(create(0, 2, gives_all_the_same, {}),
              "LAPWING_EXCHANGE: the exchange function returned a wrong block for rank 1: it must return the "
              "blocks of all ranks in rank order");
    EXPECT_EQ(create(0, 1, nullptr, {"engin=host"}),
              "LAPWING_INVALID_ARGUMENT: unknown option 'engin'; did you mean 'engine'?");
    EXPECT_EQ(create(0, 1, nullptr, {"engine"}),
              "LAPWING_INVALID_ARGUMENT: option 'engine' is not of the form name=value");
    EXPECT_THAT(create(0, 1, nullptr, {"engine=mpi"}), HasSubstr("engine 'mpi' is the native MPI"));
    EXPECT_THAT(create(0, 1, nullptr, {"network=mpi"}), HasSubstr("network 'mpi' is the native MPI"));
    EXPECT_THAT(create(0, 1, nullptr, {"tcp_lanes=many"}), HasSubstr("LAPWING_TCP_LANES must be"));
    EXPECT_EQ(told(lapwing_group_create(0, 1, nullptr, nullptr, nullptr, nullptr)),
              "LAPWING_INVALID_ARGUMENT: group is null");
}

// What the making of a group says at each rank, each of which has an option of its own.
Strings said_with(const Strings& options) {
    const int ranks = static_cast<int>(options.size());
    Meeting meeting(ranks);
    Strings said(options.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank, at = static_cast<std::size_t>(rank)] {
            Seat seat{&meeting, rank};
            lapwing_group* group = nullptr;
            const Options own({options[at]});
            said[at] = told(lapwing_group_create(rank, ranks, exchange, &seat, own.data(), &group));
        });
    }
    for (std::thread& thread : threads) thread.join();
    return said;
}

TEST(GroupFaults, WhatIsWrongAtOneRankIsToldToAll) {
    const auto by_others = StartsWith("LAPWING_INVALID_ARGUMENT: rank 1: LAPWING_TCP_FAMILY");
    EXPECT_THAT(
        said_with({"engine=host", "tcp_family=ipv5", "engine=host"}),
        ElementsAre(by_others, StartsWith("LAPWING_INVALID_ARGUMENT: LAPWING_TCP_FAMILY"), by_others));
}

TEST(GroupFaults, OptionsThatDifferAreAnError) {
    EXPECT_THAT(said_with({"tcp_lanes=4", "tcp_lanes=3"}),
                Each(HasSubstr("LAPWING_TCP_LANES, or its option, must be the same on all ranks; it differs "
                               "between rank 0 and rank 1")));
}

TEST(CallFaults, WrongArgumentsStartNothing) {
    as_threads(2, {"engine=host"}, [](lapwing_group* group, int rank) {
        lapwing_operation* operation = nullptr;
        const auto refused = [&](lapwing_status status, const std::string& why) {
            EXPECT_EQ(status, LAPWING_INVALID_ARGUMENT) << why;
            EXPECT_THAT(lapwing_message(), HasSubstr(why));
            EXPECT_EQ(operation, nullptr);
        };
        char data[16] = {};
        refused(lapwing_barrier(nullptr, &operation), "group is null");
        refused(lapwing_barrier(group, nullptr), "operation is null");
        refused(lapwing_broadcast(group, data, 4, 2, &operation),
                "root 2 is out of range: the group has "
                "ranks 0 to 1");
        refused(lapwing_broadcast(group, nullptr, 4, 0, &operation), "is null");
        refused(lapwing_alltoall(group, LAPWING_IN_PLACE, data, 4, &operation), "never in_place");
        refused(lapwing_allgather(group, data, UINT64_MAX, data, &operation), "too many");
        refused(lapwing_gather(group, LAPWING_IN_PLACE, 4, data, 1 - rank, &operation),
                "in_place must be 0 on all ranks but the root");
        refused(lapwing_allreduce(group, data, data, 1, nullptr, &operation), "reduction is null");
        lapwing_reduction reduction = {LAPWING_FLOAT32, LAPWING_BIT_OR, 0, nullptr, nullptr, 0};
        refused(lapwing_allreduce(group, data, data, 1, &reduction, &operation),
                "bit_or does not apply to elements of");
        reduction = {LAPWING_INT8, static_cast<lapwing_operator>(50), 0, nullptr, nullptr, 0};
        refused(lapwing_allreduce(group, data, data, 1, &reduction, &operation), "unknown operator 50");
        reduction = {LAPWING_INT8, LAPWING_USER, 4, nullptr, nullptr, 0};
        refused(lapwing_allreduce(group, data, data, 1, &reduction, &operation),
                "LAPWING_USER needs a function");
        const lapwing_part overlapping[] = {{0, 4}, {2, 4}};
        refused(lapwing_allgatherv(group, data, 4, data, overlapping, &operation), "overlap");
        const lapwing_part parts[] = {{0, 4}, {8, 4}};
        refused(lapwing_allgatherv(group, data, 5, data, parts, &operation),
                "sends 5 bytes to rank " + std::to_string(rank) + ", which expects 4");
        const lapwing_part shorter[] = {{0, 3}, {8, 3}};
        refused(lapwing_alltoallv(group, data, shorter, data, parts, &operation),
                "sends 3 bytes to rank " + std::to_string(rank) + ", which expects 4");
        refused(lapwing_alltoallv(group, data, nullptr, data, parts, &operation), "sends is null");
        const int stranger = 7;
        const lapwing_neighbors neighbors = {1, 1, &stranger, &stranger};
        refused(lapwing_neighbor_alltoall(group, &neighbors, data, parts, data, parts, &operation),
                "neighbour 7 of rank");
        lapwing_plan* plan = nullptr;
        lapwing_problem problem{};
        refused(lapwing_plan_create(group, &problem, &plan), "lapwing_problem_of");
        // Nothing has been started, and so the ranks still agree.
        EXPECT_WORKS(lapwing_barrier(group, &operation));
        lapwing_group* const same = group;
        EXPECT_EQ(lapwing_group_destroy(same), LAPWING_INVALID_ARGUMENT);
        EXPECT_THAT(lapwing_message(), HasSubstr("operations that were not waited for"));
        EXPECT_WORKS(lapwing_wait(&operation));
        EXPECT_WORKS(lapwing_wait(&operation));
        int complete = 0;
        EXPECT_WORKS(lapwing_test(&operation, &complete));
        EXPECT_EQ(complete, 1);
        EXPECT_WORKS(lapwing_group_destroy(nullptr));
        EXPECT_WORKS(lapwing_plan_destroy(nullptr));
    });
}

TEST(Faults, AChildHasNoGroup) {
    // A group of one: no other rank is alarmed by the child.
    lapwing_group* group = nullptr;
    ASSERT_EQ(lapwing_group_create(0, 1, nullptr, nullptr, nullptr, &group), LAPWING_SUCCESS);
    const pid_t child = ::fork();
    if (child == 0) {
        lapwing_operation* operation = nullptr;
        const bool refused = lapwing_barrier(group, &operation) == LAPWING_INVALID_ARGUMENT;
        ::_exit(refused && lapwing_group_destroy(group) == LAPWING_SUCCESS ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_WORKS(lapwing_group_destroy(group));
}

}  // namespace
}  // namespace lapwing
