// Groups of the C API on doubles of ConnectX cards: lists on the mlx5 engine, ranks without a card, ranks
// that end.

#include "c/mlx5/devx.hpp"
#include "c/ranks.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace testing_c;
using testing::HasSubstr;
using testing::StartsWith;

const lapwing_reduction sum = {LAPWING_UINT64, LAPWING_SUM, 0, nullptr, nullptr, 0};

// An allreduce, an alltoall and a broadcast at once, as the group's ranks agree that they must end.
void collectives(lapwing_group* group, int rank, int size, int times) {
    for (int time = 0; time < times; ++time) {
        const auto number = static_cast<std::uint64_t>(rank + time);
        std::vector<std::uint64_t> blocks(static_cast<std::size_t>(size)), got(blocks.size());
        std::iota(blocks.begin(), blocks.end(), number * 100);
        std::vector<std::uint64_t> data(6000, rank == 1 ? number : 0);
        std::uint64_t total = 0;
        lapwing_operation* operations[3] = {};
        EXPECT_WORKS(lapwing_allreduce(group, &number, &total, 1, &sum, &operations[0]));
        EXPECT_WORKS(
            lapwing_alltoall(group, blocks.data(), got.data(), sizeof(std::uint64_t), &operations[1]));
        EXPECT_WORKS(lapwing_broadcast(group, data.data(), data.size() * 8, 1, &operations[2]));
        EXPECT_WORKS(lapwing_wait_all(3, operations));
        EXPECT_EQ(total, static_cast<std::uint64_t>(size * (size - 1) / 2 + size * time));
        for (int from = 0; from < size; ++from)
            EXPECT_EQ(got[static_cast<std::size_t>(from)],
                      static_cast<std::uint64_t>((from + time) * 100 + rank));
        EXPECT_EQ(data, std::vector<std::uint64_t>(data.size(), static_cast<std::uint64_t>(1 + time)));
    }
}

TEST(Cards, RunTheListsOfAGroup) {
    cards_left = max_cards;
    for (const char* memory : {"shared_memory=1", "shared_memory=0"}) {
        as_threads(3, {"engine=mlx5", memory}, [](lapwing_group* group, int rank) {
            EXPECT_STREQ(lapwing_group_engine(group), "mlx5") << lapwing_group_note(group);
            EXPECT_STREQ(lapwing_group_note(group), "");
            collectives(group, rank, 3, 5);
        });
    }
}

TEST(Cards, RunThemInEachVariant) {
    cards_left = max_cards;
    for (const char* queues : {"mq-send", "mq-rdma", "peer-send", "peer-rdma"}) {
        as_threads(2, {"engine=mlx5", std::string("work_queues=") + queues},
                   [](lapwing_group* group, int rank) {
                       EXPECT_STREQ(lapwing_group_engine(group), "mlx5") << lapwing_group_note(group);
                       collectives(group, rank, 2, 3);
                   });
    }
    const Options options({"work_queues=rdma"});
    lapwing_group* group = nullptr;
    EXPECT_THAT(told(lapwing_group_create(0, 1, nullptr, nullptr, options.data(), &group)),
                HasSubstr("LAPWING_WORK_QUEUES: unknown value 'rdma'; valid: auto, mq-send, mq-rdma"));
}

TEST(Cards, OfOneRankAloneAreNotUsed) {
    cards_left = 1;
    as_threads(2, {"engine=mlx5"}, [](lapwing_group* group, int rank) {
        EXPECT_STREQ(lapwing_group_engine(group), "host");
        EXPECT_THAT(lapwing_group_note(group), HasSubstr("the double of the host has no card left"));
        collectives(group, rank, 2, 1);
    });
}

// Rank 0 only receives, from a rank that ends before it sends.
TEST(Cards, NoRankWaitsForOneThatAborts) {
    cards_left = max_cards;
    const auto said = as_processes(3, {"engine=mlx5"}, [](lapwing_group* group, int rank) {
        collectives(group, rank, 3, 1);
        if (rank == 1) return told(lapwing_group_abort(group, "no more input"));
        char data[100] = {};
        lapwing_operation* operation = nullptr;
        const lapwing_status status = lapwing_broadcast(group, data, sizeof data, 1, &operation);
        return told(status == LAPWING_SUCCESS ? lapwing_wait(&operation) : status);
    });
    for (const int rank : {0, 2}) {
        EXPECT_EQ(said[static_cast<std::size_t>(rank)],
                  "LAPWING_LINK: rank 1 called lapwing_group_abort: no more input");
    }
}

TEST(Cards, NoRankWaitsForOneThatHasEnded) {
    cards_left = max_cards;
    for (const char* memory : {"shared_memory=1", "shared_memory=0"}) {
        const auto said = as_processes(3, {"engine=mlx5", memory}, [](lapwing_group* group, int rank) {
            collectives(group, rank, 3, 1);
            if (rank == 1) ::_exit(0);
            char data[100] = {};
            lapwing_operation* operation = nullptr;
            const lapwing_status status = lapwing_broadcast(group, data, sizeof data, 1, &operation);
            return told(status == LAPWING_SUCCESS ? lapwing_wait(&operation) : status);
        });
        for (const int rank : {0, 2})
            EXPECT_THAT(said[static_cast<std::size_t>(rank)], StartsWith("LAPWING_LINK: rank 1 ("))
                << memory << ", rank " << rank;
    }
}

}  // namespace
}  // namespace lapwing
