#include "base/error.hpp"
#include "support/jobs.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;
using testing_engines::Meeting;
using testing_engines::ThreadJob;

constexpr int job_ranks = 3;

// Runs `work` on each rank of a job, and returns the message of the Error that it threw there, if any.
template <typename Work>
std::vector<std::string> by_each_rank(Work work) {
    const auto meeting = std::make_shared<Meeting>(job_ranks);
    Settings settings;
    settings.tcp_interface = "127.0.0.1";
    std::vector<std::string> thrown(job_ranks);
    std::vector<std::unique_ptr<ThreadJob>> jobs;
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < job_ranks; ++rank)
        jobs.push_back(std::make_unique<ThreadJob>(meeting, rank, job_ranks, settings));
    for (const auto& job : jobs) {
        threads.emplace_back([&, &job = *job] {
            try {
                work(job);
            } catch (const Error& error) {
                thrown[static_cast<std::size_t>(job.rank())] = error.what();
            }
        });
    }
    threads.clear();
    return thrown;
}

void fail_on(const Job& job, int rank, ErrorCode code) {
    if (job.rank() == rank) throw Error(code, "no");
}

TEST(Job, AgreesOnSeveralTextsAtOnce) {
    by_each_rank([](Job& job) {
        const auto agreed = job.agree({"", job.rank() > 0 ? "first" : "", job.rank() == 2 ? "second" : ""});
        EXPECT_EQ(agreed[0], "");
        EXPECT_THAT(agreed[1], AllOf(StartsWith("rank 1 ("), HasSubstr("): first")));
        EXPECT_THAT(agreed[2], AllOf(StartsWith("rank 2 ("), HasSubstr("): second")));
    });
}

TEST(Job, CollectsBytesOfDifferentLengths) {
    by_each_rank([](Job& job) {
        const auto all = job.collect([&] {
            return std::vector(static_cast<std::size_t>(job.rank()), static_cast<std::byte>(job.rank()));
        });
        for (std::size_t rank = 0; rank < job_ranks; ++rank)
            EXPECT_EQ(all[rank], std::vector(rank, static_cast<std::byte>(rank)));
    });
}

TEST(Job, AllRanksThrowTheReasonOfTheLowest) {
    std::atomic<int> own{0};
    const auto thrown = by_each_rank([&](Job& job) {
        try {
            job.together([&] {
                fail_on(job, 1, ErrorCode::system);
                fail_on(job, 2, ErrorCode::system);
            });
        } catch (const Error& error) {
            if (error.code() == ErrorCode::system) ++own;
            throw;
        }
    });
    EXPECT_THAT(thrown, Each(AllOf(StartsWith("rank 1 ("), HasSubstr("): no"))));
    EXPECT_EQ(own, 2);
}

TEST(Job, ARankWithAnInvalidArgumentThrowsItAsItIs) {
    const auto thrown =
        by_each_rank([](Job& job) { job.together([&] { fail_on(job, 2, ErrorCode::invalid_argument); }); });
    EXPECT_EQ(thrown[2], "no");
    EXPECT_THAT(thrown[0], StartsWith("rank 2 ("));
}

TEST(Job, SocketsAreMadeAfterACheckThatFailed) {
    const auto thrown = by_each_rank([](Job& job) {
        EXPECT_THROW(job.sockets([&] { fail_on(job, 1, ErrorCode::unsupported); }), Error);
        EXPECT_EQ(job.open_sockets(), nullptr);
        tcp::Endpoint& made = job.sockets();
        EXPECT_THROW(job.sockets([&] { fail_on(job, 0, ErrorCode::unsupported); }), Error);
        EXPECT_EQ(&job.sockets([] {}), &made);
    });
    EXPECT_THAT(thrown, Each(""));
}

}  // namespace
}  // namespace lapwing
