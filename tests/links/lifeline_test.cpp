// Every rank learns when another one has ended, over loopback.
#include "links/lifeline.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "links/tcp_job.hpp"

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

TEST_F(LifelineTest, AllLearnTheReasonOnce) {
    members[2].line->give_up("rank 2: nothing left to do");
    members[2].line->give_up("again");
    for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_TRUE(learns(rank)) << rank;
        EXPECT_EQ(members[rank].reason(), "rank 2: nothing left to do");
    }
}

TEST_F(LifelineTest, AllAgreeOnWhatTheLowestRankSays) {
    std::vector<std::vector<std::string>> agreed(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            // Rank 0 comes last: the others have said theirs, or say it while it waits.
            if (rank == 0) std::this_thread::sleep_for(20ms);
            const std::string own = "rank " + std::to_string(rank);
            agreed[static_cast<std::size_t>(rank)] =
                members[rank].line->agree({rank >= 2 ? own : "", rank == 3 ? own : "", ""}, 20s);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(agreed, testing::Each(testing::ElementsAre("rank 2", "rank 3", "")));
    // It serves as before.
    members[1].line->give_up("rank 1: nothing left to do");
    for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(learns(rank)) << rank;
}

TEST_F(LifelineTest, WhoEndsBeforeItAgreesIsNotWaitedFor) {
    std::vector<std::thread> threads;
    for (const int rank : {0, 1, 3}) {
        threads.emplace_back([&, rank] {
            EXPECT_THAT(
                [&] {
                    members[rank].line->agree({"", "mine"}, 60s);
                },
                testing::ThrowsMessage<Error>(HasSubstr("rank 2 (")));
        });
    }
    members[2].connections->give_up("as if its process had ended");
    for (std::thread& thread : threads) thread.join();
}

TEST_F(LifelineTest, WhoDoesNotAgreeIsNamed) {
    std::vector<std::thread> threads;
    for (const int rank : {0, 1, 2}) {
        threads.emplace_back([&, rank] {
            // Rank 0 tells the others, who would wait longer.
            EXPECT_THAT([&] { members[rank].line->agree({""}, rank == 0 ? 50ms : 60s); },
                        testing::ThrowsMessage<Error>(
                            testing::AllOf(HasSubstr("rank 3 ("), HasSubstr("has not answered within"))));
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST_F(LifelineTest, AllLearnThatOneHasEnded) {
    members[3].connections->give_up("as if its process had ended");
    for (const int rank : {0, 1, 2}) {
        EXPECT_TRUE(learns(rank)) << rank;
        EXPECT_THAT(members[rank].reason(), HasSubstr("rank 3 ("));
        EXPECT_THAT(members[rank].reason(), HasSubstr("closed the connection"));
    }
}

TEST_F(LifelineTest, AllLearnThatRank0HasEnded) {
    members[0].connections->give_up("as if its process had ended");
    for (const int rank : {1, 2, 3}) {
        EXPECT_TRUE(learns(rank)) << rank;
        EXPECT_THAT(members[rank].reason(), HasSubstr("rank 0 ("));
    }
}

TEST_F(LifelineTest, WhoLeavesInOrderIsNotMissed) {
    for (const int rank : {1, 0}) {
        members[rank].line.reset();
        members[rank].connections.reset();
    }
    // What is said now comes after what the others may have heard.
    std::this_thread::sleep_for(20ms);
    for (const int rank : {2, 3}) EXPECT_EQ(members[rank].reason(), "");
}

TEST(Lifeline, WhoEndsBeforeRank0KnowsTheGroupIsMissedAtOnce) {
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

TEST(Lifeline, WhoDoesNotComeIsNamed) {
    tcp::LocalJob job(2);
    const auto connections = job.group(0);
    try {
        const Lifeline line(*connections, 0, 2, 50ms, [](const std::string&) {});
        FAIL() << "it has found nobody, and does not say so";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 1 ("));
        EXPECT_THAT(error.what(), HasSubstr("has not connected within"));
    }
}

}  // namespace
}  // namespace lapwing
