// All ranks get the end of any rank, over loopback.
#include "links/lifeline.hpp"

#include "base/error.hpp"
#include "links/tcp_job.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class LifelineTest : public testing::Test {
  protected:
    static constexpr int ranks = 4;
    struct Member {
        std::unique_ptr<Connections> connections;
        std::mutex mutex;
        std::string why;
        std::unique_ptr<Lifeline> line;  // ends first

        std::string reason() {
            const std::lock_guard lock(mutex);
            return why;
        }
    };

    LifelineTest() {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([this, rank] {
                Member& member = members[rank];
                member.connections = job.group(rank);
                member.line = std::make_unique<Lifeline>(*member.connections, rank, ranks, 20s,
                                                         [&member](const std::string& reason) {
                                                             const std::lock_guard lock(member.mutex);
                                                             member.why += reason;
                                                         });
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    bool learns(int rank) {
        return tcp::within(tcp::long_enough, [&] { return !members[rank].reason().empty(); });
    }

    tcp::LocalJob job{ranks};
    Member members[ranks];
};

TEST_F(LifelineTest, AllRanksGetTheReasonOnce) {
    members[2].line->fail("rank 2: nothing left to do");
    members[2].line->fail("again");
    for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_TRUE(learns(rank)) << rank;
        EXPECT_EQ(members[rank].reason(), "rank 2: nothing left to do");
    }
}

class LifelineOf : public LifelineTest, public testing::WithParamInterface<int> {};

TEST_P(LifelineOf, AllRanksGetTheEndOfOne) {
    members[GetParam()].connections->give_up("as if its process had ended");
    for (int rank = 0; rank < ranks; ++rank) {
        if (rank == GetParam()) continue;
        EXPECT_TRUE(learns(rank)) << rank;
        EXPECT_THAT(members[rank].reason(), HasSubstr(fmt::format("rank {} (", GetParam())));
        EXPECT_THAT(members[rank].reason(), HasSubstr("closed the connection"));
    }
}
INSTANTIATE_TEST_SUITE_P(Ranks, LifelineOf, testing::Values(0, 3));

TEST_F(LifelineTest, ARankThatLeavesInOrderIsNotLost) {
    for (const int rank : {1, 0}) {
        members[rank].line.reset();
        members[rank].connections.reset();
    }
    // What has been sent until now has arrived.
    std::this_thread::sleep_for(20ms);
    for (const int rank : {2, 3}) EXPECT_EQ(members[rank].reason(), "");
}

TEST(Lifeline, ARankThatEndsBeforeRank0HasMadeTheGroupIsLostAtOnce) {
    tcp::LocalJob job(2);
    const auto connections = job.group(1);
    const Lifeline line(*connections, 1, 2, 20s, [](const std::string&) {});
    connections->give_up("as if its process had ended");
    std::mutex mutex;
    std::string why;
    const auto of_rank_0 = job.group(0);
    const Lifeline late(*of_rank_0, 0, 2, 20s, [&](const std::string& reason) {
        const std::lock_guard lock(mutex);
        why = reason;
    });
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] {
        const std::lock_guard lock(mutex);
        return !why.empty();
    }));
    const std::lock_guard lock(mutex);
    EXPECT_THAT(why, HasSubstr("rank 1 ("));
}

TEST(Lifeline, ARankThatDoesNotConnectIsNamed) {
    tcp::LocalJob job(2);
    const auto connections = job.group(0);
    EXPECT_THAT([&] { const Lifeline line(*connections, 0, 2, 50ms, [](const std::string&) {}); },
                testing::ThrowsMessage<Error>(
                    testing::AllOf(HasSubstr("rank 1 ("), HasSubstr("has not connected within"))));
}

}  // namespace
}  // namespace lapwing
