// Ranks ask each other: watches of several ranks in this process.
#include "watch/job_watch.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "links/tcp_job.hpp"
#include "watch/hand_made.hpp"
#include "watch/local_socket.hpp"
#include "watch/messages.hpp"
#include "watch/stall.hpp"

namespace lapwing::watch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Ranks are threads of this process.
struct Meeting {
    explicit Meeting(int ranks) : all(static_cast<std::size_t>(ranks)), met(ranks) {}
    std::vector<std::vector<std::byte>> all;
    std::barrier<> met;
};

class ThreadJob final : public Job {
  public:
    ThreadJob(int rank, int ranks, Meeting& meeting) : Job(rank, ranks, settings()), meeting_(meeting) {}
    ~ThreadJob() override { close_sockets(); }
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        meeting_.all[static_cast<std::size_t>(rank())].assign(mine.begin(), mine.end());
        meeting_.met.arrive_and_wait();
        auto all = meeting_.all;
        meeting_.met.arrive_and_wait();
        return all;
    }
    void leave_together(const std::function<void()>&) override {}
    void warn(const std::string&) override {}

  private:
    static Settings settings() {
        const char* const none[] = {nullptr};
        Settings settings = read_settings(none);
        settings.tcp_interface = "127.0.0.1";
        return settings;
    }
    Meeting& meeting_;
};

struct Printed {
    std::mutex mutex;
    std::vector<std::string> texts;
    std::size_t count() {
        const std::lock_guard lock(mutex);
        return texts.size();
    }
    bool has(const std::string& part) {
        const std::lock_guard lock(mutex);
        return std::ranges::any_of(
            texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
    }
};

RankSnapshot waiting_in(int rank, const char* function, std::chrono::nanoseconds age) {
    RankSnapshot snapshot;
    snapshot.rank = rank;
    snapshot.host = "here";
    snapshot.pid = ::getpid();
    CurrentCall call;
    call.function = function;
    call.age = static_cast<std::uint64_t>(age.count());
    call.communicator = 0;
    call.peer = 1;
    snapshot.communicators.emplace_back().members = {{0, 3, 1}};
    snapshot.current.push_back(call);
    return snapshot;
}

// Ranks 0 and 2 wait in a barrier. Rank 1 waits for a message; before it has waited for a second, that is not
// sure.
RankSnapshot at_barrier(int rank, std::chrono::nanoseconds age) {
    testing_watch::HandMadeJob job(3);
    const auto waited = static_cast<std::uint64_t>(age.count());
    for (const int one : {0, 2})
        job.enter(one, 0, testing_watch::make_call(Collective::barrier, "b.c:20"), waited);
    job.message(1, "MPI_Recv", 0, 0, 77, "b.c:48", waited);
    return job.rank(rank);
}

class WatchTest : public testing::TestWithParam<bool> {
  protected:
    static constexpr int ranks = 3;

    void start(std::chrono::milliseconds stall = 0ms) {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([this, rank, stall] {
                jobs[rank] = std::make_unique<ThreadJob>(rank, ranks, meeting);
                WatchOptions options;
                options.snapshot = [this, rank] {
                    const auto age = std::chrono::steady_clock::now() - began;
                    if (rank == 0) ++snapshots_of_0;
                    // On the event thread, as if the process were stopped.
                    if (rank == 1) stopped.wait(true);
                    if (barrier) return at_barrier(rank, age);
                    RankSnapshot snapshot = waiting_in(rank, "MPI_Recv", age);
                    // The others wait for rank 1, which waits for no rank.
                    if (rank == 1) snapshot.current.clear();
                    snapshot.program = "test";
                    if (huge) snapshot.program.resize(max_answer_bytes + 1, 'x');
                    return snapshot;
                };
                options.stall = stall;
                options.print = [this](const std::string& text) {
                    const std::lock_guard lock(printed.mutex);
                    printed.texts.push_back(text);
                };
                options.answer_limit = answer_limit;
                options.tcp_only = GetParam();
                options.notice = notice;
                options.patience = patience;
                options.lost = [this](const std::string& why) {
                    const std::lock_guard lock(lost.mutex);
                    lost.texts.push_back(why);
                };
                watches[rank] = std::make_unique<JobWatch>(*jobs[rank], std::move(options));
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (const auto& watch : watches) ASSERT_EQ(watch->trouble(), "");
    }
    ~WatchTest() override {
        go_on();
        for (auto& watch : watches) watch.reset();
        for (auto& job : jobs) job.reset();
    }

    // As `lapwing status` does.
    tcp::Socket connect(int rank) { return connect_locally(local_name(watches[rank]->job_name(), rank)); }
    static Deadline deadline() { return std::chrono::steady_clock::now() + tcp::long_enough; }
    static void send(const tcp::Socket& socket, FrameKind kind) {
        send_frame(socket.get(), kind, {}, deadline());
    }
    // Empty: the connection is closed.
    static std::optional<Frame> receive(const tcp::Socket& socket) {
        try {
            return receive_frame(socket.get(), max_answer_bytes + 64, deadline());
        } catch (const Error&) {
            return std::nullopt;
        }
    }
    std::vector<RankReply> collect(int rank) {
        const tcp::Socket socket = connect(rank);
        send(socket, FrameKind::collect);
        std::vector<RankReply> replies(ranks);
        for (int i = 0; i < ranks; ++i) {
            const auto frame = receive(socket);
            if (!frame) break;
            EXPECT_EQ(frame->kind, FrameKind::collect);
            const RankReply reply = decode_reply(frame->bytes);
            replies[static_cast<std::size_t>(reply.rank)] = reply;
        }
        return replies;
    }

    void go_on() {
        stopped = false;
        stopped.notify_all();
    }

    Meeting meeting{ranks};
    std::unique_ptr<ThreadJob> jobs[ranks];
    std::unique_ptr<JobWatch> watches[ranks];
    Printed printed;
    Printed lost;
    std::atomic<bool> stopped{false};
    std::atomic<int> snapshots_of_0{0};
    std::chrono::milliseconds notice = std::chrono::hours(1);
    std::chrono::milliseconds patience = std::chrono::hours(2);
    std::atomic<bool> huge{false};
    std::atomic<bool> barrier{false};
    // Only the tests of a rank that has left wait for its end.
    std::chrono::milliseconds answer_limit = tcp::long_enough;
    const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};
INSTANTIATE_TEST_SUITE_P(UnixAndTcp, WatchTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Tcp" : "Unix"; });

TEST_P(WatchTest, AnyRankGetsTheSnapshotsOfAll) {
    start();
    for (const int asked : {0, 2}) {
        const std::vector<RankReply> replies = collect(asked);
        for (int rank = 0; rank < ranks; ++rank) {
            const Answer answer = answer_of(replies[static_cast<std::size_t>(rank)]);
            ASSERT_TRUE(answer.snapshot) << answer.silence;
            EXPECT_EQ(answer.snapshot->rank, rank);
        }
    }
}

TEST_P(WatchTest, ARankThatHasLeftIsSilentWithTheReason) {
    answer_limit = 5s;
    start();
    watches[1].reset();
    const std::vector<RankReply> replies = collect(0);
    EXPECT_TRUE(answer_of(replies[2]).snapshot);
    EXPECT_THAT(replies[1].silence, HasSubstr("rank 1 ("));
    // Over TCP the other side cannot tell: the endpoint still accepts connections.
    EXPECT_THAT(replies[1].silence,
                HasSubstr(GetParam() ? "does not answer within 5 s" : "has called MPI_Finalize"));
}

TEST_P(WatchTest, AnAnswerThatIsTooLongIsASilence) {
    start();
    huge = true;
    const std::vector<RankReply> replies = collect(0);
    for (const RankReply& reply : replies) EXPECT_THAT(reply.silence, HasSubstr("bytes; at most"));
}

TEST_P(WatchTest, AQuestionThatIsTooLongEndsItsConnectionAlone) {
    start();
    const tcp::Socket socket = connect(0);
    const auto head = frame_head(FrameKind::hello, max_question_bytes + 1);
    ASSERT_EQ(::send(socket.get(), head.data(), head.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(head.size()));
    EXPECT_FALSE(receive(socket));
    const tcp::Socket other = connect(0);
    send(other, FrameKind::hello);
    const auto answer = receive(other);
    ASSERT_TRUE(answer);
    EXPECT_EQ(decode_description(answer->bytes).ranks, ranks);
}

TEST_P(WatchTest, AnUnknownQuestionIsRefused) {
    start();
    const tcp::Socket socket = connect(0);
    send(socket, static_cast<FrameKind>(99));
    const auto answer = receive(socket);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->kind, FrameKind::refused);
}

TEST_P(WatchTest, AnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only the superuser can become another user";
    start();
    const std::string name = local_name(watches[0]->job_name(), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
        const tcp::Socket socket = connect_locally(name);
        send(socket, FrameKind::collect);
        const auto answer = receive(socket);
        ::_exit(answer && answer->kind == FrameKind::refused ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(WatchTest, AStallIsReportedOnceByRank0) {
    start(100ms);
    ASSERT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.count() > 0; }));
    // Ranks 0 and 2 have reached the limit, and check again and again.
    const int before = snapshots_of_0;
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return snapshots_of_0 > before + 3; }));
    EXPECT_EQ(printed.count(), 1U);
    EXPECT_THAT(printed.texts.front(), HasSubstr("report 1 of at most 5"));
}

TEST_P(WatchTest, ASilentRankIsNamedAndSoIsItsReturn) {
    answer_limit = notice = 300ms;
    stopped = true;
    start();
    ASSERT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.has("no answer from rank 1 ("); }));
    go_on();
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.has("; the job continues"); }));
    EXPECT_EQ(lost.count(), 0U);
}

TEST_P(WatchTest, ARankThatIsSilentForTooLongIsLost) {
    answer_limit = 300ms;
    notice = patience = 1s;
    stopped = true;
    start();
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return lost.has("is unreachable: no answer for"); }));
    EXPECT_TRUE(lost.has("rank 1 ("));
}

TEST_P(WatchTest, RanksThatToldNothingAreAskedAgain) {
    barrier = true;
    start(200ms);
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.count() > 0; }));
    EXPECT_THAT(printed.texts.front(), HasSubstr("rank 1, which waits in MPI_Recv from rank 0"));
}

TEST(StallReport, AnswersThatTellNothingAreNotPrinted) {
    std::vector<std::string> printed;
    StallReport report(1s, [&](const std::string& text) { printed.push_back(text); });
    const auto replies = [](std::chrono::nanoseconds waited) {
        testing_watch::HandMadeJob job(2);
        job.enter(0, 0, testing_watch::make_call(Collective::barrier, "b.c:20"),
                  static_cast<std::uint64_t>(waited.count()));
        job.message(1, "MPI_Recv", 0, 0, 77, "b.c:48", static_cast<std::uint64_t>((waited - 20ms).count()));
        return std::vector<RankReply>{{0, encode(job.rank(0)), ""}, {1, encode(job.rank(1)), ""}};
    };
    EXPECT_FALSE(report.print(replies(1s)));
    EXPECT_THAT(printed, testing::IsEmpty());
    EXPECT_TRUE(report.print(replies(2s)));
    EXPECT_THAT(printed, testing::ElementsAre(HasSubstr("rank 1, which waits in MPI_Recv from rank 0")));
}

TEST_P(WatchTest, TheNextRankReportsIfRank0HasLeft) {
    answer_limit = 5s;
    start(200ms);
    watches[0].reset();
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.count() > 0; }));
}

TEST(StallClock, AWaitIsReportedOnceItHasLastedLongEnough) {
    StallClock clock(60s);
    const auto begin = StallClock::Clock::now();
    const auto check = [&](std::chrono::seconds at) {
        return clock.check(waiting_in(0, "MPI_Wait", at), begin + at, begin + at);
    };
    EXPECT_FALSE(check(30s).stalled_since);
    EXPECT_EQ(check(50s).next, 10s);
    EXPECT_EQ(check(60s).stalled_since, begin);
    EXPECT_FALSE(check(90s).stalled_since);
}

TEST(Messages, APeersBytesNeitherNestDeeplyNorHaveFloatingPointNumbers) {
    const RankSnapshot snapshot = waiting_in(1, "MPI_Recv", 5s);
    EXPECT_EQ(decode(encode(snapshot)).current.size(), 1U);
    for (const unsigned head : {0x81, 0x9f, 0x7f, 0x5f, 0xc6, 0xa1, 0xf9}) {
        const std::vector<std::byte> deep(1 << 20, static_cast<std::byte>(head));
        EXPECT_THROW(decode(deep), Error) << head;
        EXPECT_THROW(decode_description(deep), Error) << head;
    }
    // Lengths that the bytes do not have.
    for (const unsigned head : {0x9b, 0xbb, 0x7b, 0x18}) {
        const std::vector<std::byte> truncated(9, static_cast<std::byte>(head));
        EXPECT_THROW(decode(truncated), Error) << head;
    }
}

TEST(StallClock, AnotherWaitBeginsAnew) {
    StallClock clock(60s);
    const auto begin = StallClock::Clock::now();
    EXPECT_FALSE(clock.check(waiting_in(0, "MPI_Wait", 50s), begin + 50s, begin + 50s).stalled_since);
    EXPECT_FALSE(clock.check(waiting_in(0, "MPI_Wait", 20s), begin + 60s, begin + 60s).stalled_since);
    EXPECT_TRUE(clock.check(waiting_in(0, "MPI_Wait", 60s), begin + 100s, begin + 100s).stalled_since);
}

TEST(StallClock, ASuspendedProcessHasNotWaited) {
    StallClock clock(60s);
    const auto begin = StallClock::Clock::now();
    EXPECT_FALSE(clock.check(waiting_in(0, "MPI_Wait", 30s), begin + 30s, begin + 30s).stalled_since);
    // Planned for the 60th second, run in the 600th.
    EXPECT_FALSE(clock.check(waiting_in(0, "MPI_Wait", 600s), begin + 600s, begin + 60s).stalled_since);
    EXPECT_FALSE(clock.check(waiting_in(0, "MPI_Wait", 630s), begin + 630s, begin + 630s).stalled_since);
    EXPECT_TRUE(clock.check(waiting_in(0, "MPI_Wait", 660s), begin + 660s, begin + 660s).stalled_since);
}

TEST(StallClock, AListThatAdvancesIsProgress) {
    StallClock clock(60s);
    const auto begin = StallClock::Clock::now();
    const auto check = [&](std::chrono::seconds at, std::uint64_t task) {
        RankSnapshot snapshot = waiting_in(0, "MPI_Wait", at);
        CollectiveCall call;
        call.in_flight = true;
        call.position = Position{"host", "ring", task, 100, {}};
        snapshot.communicators.emplace_back().recent.push_back(call);
        return clock.check(snapshot, begin + at, begin + at).stalled_since.has_value();
    };
    EXPECT_FALSE(check(30s, 1));
    EXPECT_FALSE(check(60s, 2));
    EXPECT_FALSE(check(90s, 2));
    EXPECT_TRUE(check(120s, 2));
}

TEST(StallClock, AProgramThatTestsInALoopWaits) {
    StallClock clock(60s);
    const auto begin = StallClock::Clock::now();
    const auto check = [&](std::chrono::seconds at, const char* last) {
        RankSnapshot snapshot;
        snapshot.last.function = last;
        snapshot.last.age = 1000;
        CollectiveCall call;
        call.in_flight = true;
        call.age = static_cast<std::uint64_t>(std::chrono::nanoseconds(at).count());
        snapshot.communicators.emplace_back().recent.push_back(call);
        return clock.check(snapshot, begin + at, begin + at).stalled_since.has_value();
    };
    EXPECT_FALSE(check(30s, "MPI_Ibarrier"));
    EXPECT_FALSE(check(100s, "MPI_Test"));
    EXPECT_FALSE(check(130s, "MPI_Test"));
    EXPECT_TRUE(check(160s, "MPI_Test"));
}

}  // namespace
}  // namespace lapwing::watch
