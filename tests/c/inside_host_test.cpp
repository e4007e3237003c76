// Ranks of one host: through shared memory where all of them can, else by TCP, with the reason told at all
// ranks.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <latch>

#include "c/ranks.hpp"

namespace lapwing {
namespace {

using namespace testing_c;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* by_the_kernel = "shared memory; long messages may be copied once, by the kernel";

// Short blocks, then long ones, to all and from all. Empty, or what is wrong.
std::string exchange_blocks(lapwing_group* group, int rank) {
    const auto size = static_cast<std::size_t>(lapwing_group_size(group));
    for (const std::size_t bytes : {8U, 300'000U}) {
        std::vector<unsigned char> in(size * bytes);
        std::vector<unsigned char> out(size * bytes);
        for (std::size_t i = 0; i < in.size(); ++i)
            in[i] =
                static_cast<unsigned char>(static_cast<std::size_t>(rank) * 50 + i / bytes * 7 + i % bytes);
        lapwing_operation* operation = nullptr;
        const lapwing_status status = lapwing_alltoall(group, in.data(), out.data(), bytes, &operation);
        if (status != LAPWING_SUCCESS) return told(status);
        if (const lapwing_status end = lapwing_wait(&operation); end != LAPWING_SUCCESS) return told(end);
        for (std::size_t i = 0; i < out.size(); ++i)
            if (out[i] !=
                static_cast<unsigned char>(i / bytes * 50 + static_cast<std::size_t>(rank) * 7 + i % bytes))
                return "wrong data";
    }
    return "";
}

std::string engine_and_way(lapwing_group* group, int rank) {
    return exchange_blocks(group, rank) + lapwing_group_engine(group) + ", " +
           lapwing_group_inside_host(group) + lapwing_group_note(group);
}

TEST(InsideHost, RanksShareMemory) {
    EXPECT_THAT(as_processes(3, {}, engine_and_way), Each(std::string("host, ") + by_the_kernel));
    EXPECT_THAT(
        as_processes(3, {"engine=host", "transfer=processor"}, engine_and_way),
        Each(AllOf(StartsWith("host, shared memory, through which long messages pass in pieces: rank 0 ("),
                   HasSubstr("LAPWING_TRANSFER requests it"))));
    EXPECT_THAT(as_processes(3, {"engine=host", "shared_memory=0"}, engine_and_way),
                Each("host, no shared memory: LAPWING_SHARED_MEMORY=0"));
    lapwing_group* alone = nullptr;
    ASSERT_EQ(lapwing_group_create(0, 1, nullptr, nullptr, nullptr, &alone), LAPWING_SUCCESS);
    EXPECT_STREQ(lapwing_group_inside_host(alone), "");
    EXPECT_WORKS(lapwing_group_destroy(alone));
}

// Rank 0 makes the memory and can say in the exchange that it cannot. That rank 1 cannot join it finds out
// later.
TEST(InsideHost, ARankThatCannotShareIsToldToAll) {
    EXPECT_THAT(as_processes(3, {"engine=host"}, engine_and_way,
                             [](int rank) {
                                 const rlimit limit{4096, 4096};
                                 if (rank == 0) ::setrlimit(RLIMIT_FSIZE, &limit);
                             }),
                Each(AllOf(StartsWith("host, no shared memory: rank 0 ("), HasSubstr("ulimit -f"))));
    EXPECT_THAT(as_processes(3, {"engine=host"}, engine_and_way,
                             [](int rank) {
                                 if (rank == 0) refuse_here(SYS_memfd_create);
                             }),
                Each(AllOf(StartsWith("host, no shared memory: rank 0 ("), HasSubstr("memfd_create"))));
    EXPECT_THAT(
        as_processes(3, {"engine=host"}, engine_and_way,
                     [](int rank) {
                         // With which it would look whether it is the right memory.
                         if (rank == 1) refuse_here(SYS_pread64);
                     }),
        Each(AllOf(StartsWith("host, no shared memory: rank 1 ("), HasSubstr("cannot see each other"))));
}

TEST(InsideHost, ARankThatMayNotCopyIsToldToAll) {
    for (const long call : {SYS_process_vm_readv, SYS_process_vm_writev}) {
        EXPECT_THAT(
            as_processes(3, {"engine=host"}, engine_and_way,
                         [&](int rank) {
                             if (rank == 1) refuse_here(call);
                         }),
            Each(
                AllOf(StartsWith("host, shared memory, through which long messages pass in pieces: rank 1 ("),
                      HasSubstr("process_vm_"), HasSubstr("Operation not permitted"))));
    }
}

// A process that changes its user, say: the message fails, and the reason is told.
TEST(InsideHost, ARankThatMayCopyNoLongerSaysSo) {
    const auto said =
        as_processes(3, {"engine=host", "transfer=kernel"}, [&](lapwing_group* group, int rank) {
            std::string why = exchange_blocks(group, rank);
            if (rank == 1) {
                refuse_here(SYS_process_vm_readv);
                refuse_here(SYS_process_vm_writev);
            }
            for (int i = 0; i < 12 && why.empty(); ++i) why = exchange_blocks(group, rank);
            return why;
        });
    EXPECT_THAT(said[1], AllOf(StartsWith("LAPWING_LINK: copying "), HasSubstr("Operation not permitted"),
                               HasSubstr("LAPWING_TRANSFER=processor")));
    EXPECT_THAT(said, Each(StartsWith("LAPWING_LINK: ")));
}

// One thread sleeps for a message while another starts and waits in the same group.
TEST(InsideHost, ThreadsTakeTurnsWhileOneSleeps) {
    std::latch started(1);
    as_threads(2, {"engine=host"}, [&](lapwing_group* group, int rank) {
        constexpr int count = 20;
        lapwing_operation* first = nullptr;
        lapwing_operation* others[count] = {};
        if (rank == 1) started.wait();
        EXPECT_WORKS(lapwing_barrier(group, &first));
        std::thread sleeper([&] { EXPECT_WORKS(lapwing_wait(&first)); });
        for (lapwing_operation*& other : others) {
            if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            EXPECT_WORKS(lapwing_barrier(group, &other));
        }
        if (rank == 0) started.count_down();
        EXPECT_WORKS(lapwing_wait_all(count, others));
        sleeper.join();
    });
}

}  // namespace
}  // namespace lapwing
