// Ranks ask each other: watches of several ranks in this process.
#include "watch/job_watch.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "links/tcp_job.hpp"
#include "support/jobs.hpp"
#include "support/unit.hpp"
#include "watch/hand_made.hpp"
#include "watch/local_socket.hpp"
#include "watch/messages.hpp"
#include "watch/stall.hpp"

namespace {

// How many of the next calls the kernel refuses: to watch a local socket that listens, and to accept its
// connections.
std::atomic<int> watches_refused{0};
std::atomic<int> connections_refused{0};

// Rank 1 does not accept connections, as if its process were stopped.
std::atomic<bool> stopped{false};
thread_local bool of_rank_1 = false;
std::array<std::atomic<bool>, 4096> listens_for_rank_1{};  // by descriptor

bool listens_locally(int descriptor) {
    int domain = 0;
    int listens = 0;
    socklen_t bytes = sizeof domain;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
           ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens != 0;
}
// The watches of all ranks start at once: no two take the same refusal.
bool refuses(std::atomic<int>& left, int descriptor, int error) {
    int now = left;
    if (now == 0 || !listens_locally(descriptor)) return false;
    while (!left.compare_exchange_weak(now, now - 1))
        if (now == 0) return false;
    errno = error;
    return true;
}

}  // namespace

extern "C" int epoll_ctl(int set, int operation, int descriptor, epoll_event* event) noexcept {
    if (operation == EPOLL_CTL_ADD && refuses(watches_refused, descriptor, ENOSPC)) return -1;
    return static_cast<int>(::syscall(SYS_epoll_ctl, set, operation, descriptor, event));
}
extern "C" int listen(int descriptor, int backlog) noexcept {
    listens_for_rank_1.at(static_cast<std::size_t>(descriptor)) = of_rank_1;
    return static_cast<int>(::syscall(SYS_listen, descriptor, backlog));
}
extern "C" int accept4(int descriptor, sockaddr* address, socklen_t* bytes, int flags) {
    if (listens_for_rank_1.at(static_cast<std::size_t>(descriptor))) stopped.wait(true);
    if (refuses(connections_refused, descriptor, EMFILE)) return -1;
    return static_cast<int>(::syscall(SYS_accept4, descriptor, address, bytes, flags));
}

namespace lapwing::watch {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing_engines::Meeting;
using testing_engines::ThreadJob;

RankSnapshot waiting_in(int rank, const char* function, std::chrono::nanoseconds age) {
    testing_watch::HandMadeJob job(3);
    job.message(rank, function, 0, 1, -1, "", static_cast<std::uint64_t>(age.count()));
    return job.rank(rank);
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
        const char* const none[] = {nullptr};
        Settings settings = read_settings(none);
        settings.tcp_interface = "127.0.0.1";
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([this, rank, stall, settings] {
                of_rank_1 = rank == 1;
                jobs[rank] = std::make_unique<ThreadJob>(meeting, rank, ranks, settings);
                WatchOptions options;
                options.snapshot = [this, rank](Lines lines) {
                    const auto age = std::chrono::steady_clock::now() - began;
                    if (rank == 0) ++snapshots_of_0;
                    if (rank == 1) waits_for_positions.wait(true);
                    if (lines == Lines::find) finds_lines = true;
                    if (barrier) return at_barrier(rank, age);
                    RankSnapshot snapshot = waiting_in(rank, "MPI_Recv", age);
                    // The others wait for rank 1, which waits for no rank.
                    if (rank == 1) snapshot.current.clear();
                    snapshot.program = "test";
                    if (huge) snapshot.program.resize(max_answer_bytes + 1, 'x');
                    return snapshot;
                };
                options.stall = stall;
                options.print = printed.log();
                options.answer_limit = answer_limit;
                options.tcp_only = GetParam();
                options.notice = notice;
                options.patience = patience;
                options.lost = lost.log();
                watches[rank] = std::make_unique<JobWatch>(
                    *jobs[rank], jobs[rank]->exchange_values(own_member()), std::move(options));
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (const auto& watch : watches) ASSERT_THAT(watch->trouble(), AnyOf("", trouble));
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
            return receive_frame(socket.get(), max_answer_bytes, deadline());
        } catch (const Error&) {
            return std::nullopt;
        }
    }
    std::vector<RankSnapshot> collect(int rank) {
        const tcp::Socket socket = connect(rank);
        send(socket, FrameKind::collect);
        std::vector<RankSnapshot> answers(ranks);
        for (int i = 0; i < ranks; ++i) {
            const auto answer = receive(socket);
            if (!answer) break;
            EXPECT_EQ(answer->kind, FrameKind::collect);
            const RankSnapshot one = decode(answer->bytes);
            answers.at(static_cast<std::size_t>(one.rank)) = one;
        }
        return answers;
    }

    void go_on() {
        stopped = false;
        stopped.notify_all();
    }

    const std::shared_ptr<Meeting> meeting = std::make_shared<Meeting>(ranks);
    std::unique_ptr<ThreadJob> jobs[ranks];
    std::unique_ptr<JobWatch> watches[ranks];
    tcp::Lines_said printed;
    tcp::Lines_said lost;
    std::atomic<bool> waits_for_positions{false};
    std::atomic<bool> finds_lines{false};
    std::atomic<int> snapshots_of_0{0};
    std::chrono::milliseconds notice = std::chrono::hours(1);
    std::chrono::milliseconds patience = std::chrono::hours(2);
    std::atomic<bool> huge{false};
    std::atomic<bool> barrier{false};
    std::string trouble;  // that a rank may have
    // Only the tests of a rank that has left wait for its end.
    std::chrono::milliseconds answer_limit = tcp::long_enough;
    const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};
INSTANTIATE_TEST_SUITE_P(UnixAndTcp, WatchTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Tcp" : "Unix"; });

TEST_P(WatchTest, AnyRankGetsTheSnapshotsOfAll) {
    start();
    for (const int asked : {0, 2}) {
        for (const RankSnapshot& answer : collect(asked)) {
            EXPECT_EQ(answer.silence, "");
            EXPECT_EQ(answer.program, "test");
        }
    }
}

TEST_P(WatchTest, ALimitOnWatchesLeavesTheJobWithoutAWatch) {
    watches_refused = ranks;
    trouble = "epoll_ctl: No space left on device";
    start();
    EXPECT_EQ(watches_refused, 0);
}

// 0.4 seconds after the start the other ranks ask it, and would call it lost 0.6 seconds later.
TEST_P(WatchTest, ARankWithoutAWatchIsNotSilent) {
    watches_refused = 1;
    trouble = "epoll_ctl: No space left on device";
    answer_limit = 300ms;
    notice = patience = 1s;
    start();
    EXPECT_EQ(watches_refused, 0);
    EXPECT_FALSE(tcp::within(2s, [&] { return lost.table().size() + printed.table().size() > 0; }));
}

TEST_P(WatchTest, ALimitOnWatchesAndDescriptorsPauses) {
    start();
    watches_refused = 3;
    connections_refused = 1;
    EXPECT_EQ(collect(1)[2].program, "test");
    EXPECT_EQ(watches_refused, 0);
}

TEST_P(WatchTest, ARankThatHasLeftIsSilentWithTheReason) {
    answer_limit = 1s;
    start();
    watches[1].reset();
    std::vector<RankSnapshot> answers;
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] {
        answers = collect(0);
        return answers[2].program == "test";
    }));
    EXPECT_THAT(answers[1].silence, HasSubstr("rank 1 ("));
    // Over TCP the other side cannot tell: the endpoint still accepts connections.
    EXPECT_THAT(answers[1].silence,
                HasSubstr(GetParam() ? "does not answer within 1 s" : "has called MPI_Finalize"));
}

// Short reductions need the event thread.
TEST_P(WatchTest, ACheckDoesNotHoldUpTheEventThread) {
    waits_for_positions = true;
    start(100ms);
    const tcp::Socket socket = connect(1);
    send(socket, FrameKind::states);
    EXPECT_TRUE(receive(socket));
    EXPECT_FALSE(finds_lines);
    waits_for_positions = false;
    waits_for_positions.notify_all();
}

TEST_P(WatchTest, AnAnswerThatIsTooLongIsASilence) {
    start();
    huge = true;
    for (const RankSnapshot& answer : collect(0)) EXPECT_THAT(answer.silence, HasSubstr("bytes; at most"));
}

TEST_P(WatchTest, AQuestionThatIsTooLongEndsItsConnectionAlone) {
    start();
    const tcp::Socket socket = connect(0);
    const FrameHead head{FrameKind::hello, max_question_bytes + 1};
    ASSERT_EQ(::send(socket.get(), &head, sizeof head, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof head));
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
    ASSERT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.table().size() > 0; }));
    // Ranks 0 and 2 have reached the limit, and check again and again.
    const int before = snapshots_of_0;
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return snapshots_of_0 > before + 3; }));
    EXPECT_EQ(printed.table().size(), 1U);
    EXPECT_THAT(printed.table().front(), HasSubstr("report 1 of at most 5"));
}

TEST_P(WatchTest, ASilentRankIsNamedAndSoIsItsReturn) {
    answer_limit = notice = 300ms;
    stopped = true;
    start();
    ASSERT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.has("no answer from rank 1 ("); }));
    go_on();
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.has("; the job continues"); }));
    EXPECT_EQ(lost.table().size(), 0U);
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
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.table().size() > 0; }));
    EXPECT_THAT(printed.table().front(), HasSubstr("rank 1, which waits in MPI_Recv from rank 0"));
}

TEST(Messages, APeersRecordsNeitherNestDeeplyNorHaveFloatingPointNumbers) {
    EXPECT_EQ(decode(encode(waiting_in(1, "MPI_Recv", 5s))).current.size(), 1U);
    const auto decoded = [](const std::string& text) {
        return decode_description(std::as_bytes(std::span(text)));
    };
    JobDescription description;
    description.age = 5;
    const std::vector<std::byte> valid = encode(description);
    const std::string text(reinterpret_cast<const char*>(valid.data()), valid.size());
    EXPECT_EQ(decoded(text).age, 5U);
    const std::size_t age = text.find("\"age\":5") + 6;
    const std::string unknown = "5,\"x\":";  // a key that is read by no one
    for (const std::string& wrong : {std::string("1e300"), unknown + "5.0", std::string(1 << 20, '['),
                                     unknown + std::string(17, '[') + std::string(17, ']')})
        EXPECT_THROW(decoded(std::string(text).replace(age, 1, wrong)), Error) << wrong.substr(0, 40);
    for (const std::size_t length : {std::size_t{0}, age, text.size() - 1})
        EXPECT_THROW(decoded(text.substr(0, length)), Error) << length;
}

TEST_P(WatchTest, TheNextRankReportsIfRank0HasLeft) {
    answer_limit = 1s;
    start(200ms);
    watches[0].reset();
    EXPECT_TRUE(tcp::within(tcp::long_enough, [&] { return printed.table().size() > 0; }));
}

class StallClockTest : public testing::Test {
  protected:
    // Of a rank that has waited for `waited`. The check was planned for the moment `due`.
    StallClock::Finding check(std::chrono::seconds at, std::chrono::seconds waited,
                              std::chrono::seconds due) {
        return clock.check(waiting_in(0, "MPI_Wait", waited), begin + at, begin + due);
    }
    StallClock::Finding check(std::chrono::seconds at) { return check(at, at, at); }

    StallClock clock{60s};
    const StallClock::Clock::time_point begin = StallClock::Clock::now();
};

TEST_F(StallClockTest, AWaitIsReportedOnceItHasLastedLongEnough) {
    EXPECT_FALSE(check(30s).stalled_since);
    EXPECT_EQ(check(50s).next, 10s);
    EXPECT_EQ(check(60s).stalled_since, begin);
    EXPECT_FALSE(check(90s).stalled_since);
}

TEST_F(StallClockTest, AnotherWaitBeginsAnew) {
    EXPECT_FALSE(check(50s).stalled_since);
    EXPECT_FALSE(check(60s, 20s, 60s).stalled_since);
    EXPECT_TRUE(check(100s, 60s, 100s).stalled_since);
}

TEST_F(StallClockTest, ASuspendedProcessHasNotWaited) {
    EXPECT_FALSE(check(30s).stalled_since);
    // Planned for the 60th second, run in the 600th.
    EXPECT_FALSE(check(600s, 600s, 60s).stalled_since);
    EXPECT_FALSE(check(630s).stalled_since);
    EXPECT_TRUE(check(660s).stalled_since);
}

TEST_F(StallClockTest, AListThatAdvancesIsProgress) {
    const auto check = [&](std::chrono::seconds at, std::uint64_t task) {
        RankSnapshot snapshot = waiting_in(0, "MPI_Wait", at);
        CollectiveCall call;
        call.in_flight = true;
        call.position = Position{"host", task, 100, {}};
        snapshot.communicators.emplace_back().recent.push_back(call);
        return clock.check(snapshot, begin + at, begin + at).stalled_since.has_value();
    };
    EXPECT_FALSE(check(30s, 1));
    EXPECT_FALSE(check(60s, 2));
    EXPECT_FALSE(check(90s, 2));
    EXPECT_TRUE(check(120s, 2));
}

TEST_F(StallClockTest, AProgramThatTestsInALoopWaits) {
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
