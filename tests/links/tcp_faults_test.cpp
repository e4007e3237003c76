// What goes wrong under a connection: descriptors, the network, forks, groups that end early.
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "links/tcp/sockets.hpp"
#include "links/tcp_job.hpp"
#include "support/unit.hpp"

namespace lapwing::tcp {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Runs `work` in a process of its own; what it returns comes back, or how it ended.
std::string in_child(const std::function<std::string()>& work) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        std::string text;
        try {
            text = work();
        } catch (const std::exception& error) {
            text = fmt::format("threw {}", error.what());
        }
        static_cast<void>(!write(ends[1], text.data(), text.size()));
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char bytes[4096];
    pollfd ready{ends[0], POLLIN, 0};
    while (true) {
        if (poll(&ready, 1, 2 * static_cast<int>(long_enough.count())) <= 0) {
            kill(child, SIGKILL);
            text += " (no end)";
            break;
        }
        const ssize_t count = read(ends[0], bytes, sizeof bytes);
        if (count <= 0) break;
        text.append(bytes, static_cast<std::size_t>(count));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text += fmt::format(" (status {})", status);
    return text;
}

// Lowers the limit until so many are left.
void leave_descriptors(std::uint64_t free) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    while (limit.rlim_cur > 0 && free_descriptors() > free) {
        --limit.rlim_cur;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

std::string outcome(Connections& connections, int peer, int lane) {
    try {
        return fmt::format("descriptor {}", made(connections, peer, lane));
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(TcpFaults, NoDescriptorForAConnectionIsToldSo) {
    const std::string told = in_child([] {
        PairJob job;
        leave_descriptors(0);
        return outcome(*job.one, 0, 0);
    });
    EXPECT_THAT(told, HasSubstr("no connection to rank 0"));
    EXPECT_THAT(told, HasSubstr("no descriptor is free"));
    EXPECT_THAT(told, HasSubstr("ulimit -n"));
}

TEST(TcpFaults, NoDescriptorToAcceptOneIsToldSoAndTheDoorOpensAgain) {
    const std::string told = in_child([] {
        PairJob job(loopback(), 2);
        rlimit before{};
        getrlimit(RLIMIT_NOFILE, &before);
        leave_descriptors(1);
        job.zero->want(1, 0);
        job.one->want(0, 0);  // takes the last one
        const std::string why = outcome(*job.zero, 1, 0);
        setrlimit(RLIMIT_NOFILE, &before);
        const int later = made(*job.one, 0, 1);
        const int met = made(*job.zero, 1, 1);
        return fmt::format("{}; then {}; said {}", why, later >= 0 && met >= 0 ? "well" : "nothing",
                           job.said[0].all());
    });
    EXPECT_THAT(told, HasSubstr("no connection from rank 1: no descriptor is free"));
    EXPECT_THAT(told, HasSubstr("; then well;"));
    EXPECT_THAT(told, HasSubstr("said no descriptor is free"));
}

TEST(TcpFaults, FreeDescriptorsAreCounted) {
    const std::uint64_t before = free_descriptors();
    std::vector<int> opened;
    for (int i = 0; i < 5; ++i) opened.push_back(dup(0));
    EXPECT_EQ(free_descriptors(), before - 5);
    for (const int descriptor : opened) close(descriptor);
    EXPECT_EQ(free_descriptors(), before);
}

// A network of its own, where loopback can be cut. False: this user may not have one.
bool own_network() {
    return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

bool set_loopback(bool up) {
    const int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    bool done = ioctl(descriptor, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    done = done && ioctl(descriptor, SIOCSIFFLAGS, &request) == 0;
    close(descriptor);
    return done;
}

// How a connection ends: the error's number, 0 for a plain end, -1 when it does not within `limit`.
int end_of(int descriptor, milliseconds limit) {
    int error = -1;
    within(limit, [&] {
        char byte;
        const ssize_t count = recv(descriptor, &byte, 1, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN) return false;
        error = count < 0 ? errno : 0;
        return true;
    });
    return error;
}

TEST(TcpFaults, ANetworkThatIsGoneEndsIdleConnectionsAfterThePatience) {
    const std::string told = in_child([]() -> std::string {
        if (!own_network() || !set_loopback(true)) return "skip";
        PairJob job(loopback(std::chrono::seconds(3)));
        const int to = made(*job.one, 0);
        made(*job.zero, 1);
        set_loopback(false);
        const int first = end_of(to, long_enough);
        const int second = end_of(to, long_enough);  // two operations of io_uring may wait at one socket
        return fmt::format("{}, then {}: {}", first, second, reason_of_end(to, ECONNRESET));
    });
    if (told == "skip") GTEST_SKIP() << "network namespaces are not for this user";
    EXPECT_EQ(told, fmt::format("{0}, then 0: {0}", ETIMEDOUT));
}

TEST(TcpFaults, APeerThatClosesHasNotTimedOut) {
    PairJob job(loopback(std::chrono::seconds(12)));
    const int to = made(*job.one, 0);
    const int from = made(*job.zero, 1);
    shutdown(from, SHUT_RDWR);
    EXPECT_EQ(end_of(to, long_enough), 0);
    EXPECT_EQ(reason_of_end(to, ECONNRESET), ECONNRESET);
    EXPECT_EQ(reason_of_end(to, EHOSTUNREACH), EHOSTUNREACH);
}

TEST(TcpFaults, ANetworkThatComesBackIsForgiven) {
    const std::string told = in_child([]() -> std::string {
        if (!own_network() || !set_loopback(true)) return "skip";
        PairJob job(loopback(std::chrono::seconds(6)));
        const int to = made(*job.one, 0);
        const int from = made(*job.zero, 1);
        set_loopback(false);
        give(to, "late");
        std::this_thread::sleep_for(std::chrono::seconds(2));
        set_loopback(true);
        return get(from, 4);
    });
    if (told == "skip") GTEST_SKIP() << "network namespaces are not for this user";
    EXPECT_EQ(told, "late");
}

TEST(TcpFaults, SocketsAreSetUpForIt) {
    Options options = loopback(std::chrono::seconds(12));
    options.buffer_bytes = 32768;
    PairJob job(options);
    for (const int descriptor : {made(*job.one, 0), made(*job.zero, 1)}) {
        const auto value = [&](int level, int name) {
            int result = -1;
            socklen_t size = sizeof result;
            EXPECT_EQ(getsockopt(descriptor, level, name, &result, &size), 0);
            return result;
        };
        EXPECT_NE(value(IPPROTO_TCP, TCP_NODELAY), 0);
        EXPECT_NE(value(SOL_SOCKET, SO_KEEPALIVE), 0);
        EXPECT_LE(value(IPPROTO_TCP, TCP_KEEPIDLE) + 3 * value(IPPROTO_TCP, TCP_KEEPINTVL), 12);
        EXPECT_EQ(value(IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
        EXPECT_EQ(value(SOL_SOCKET, SO_SNDBUF), 65536);  // the kernel doubles it
        EXPECT_EQ(value(SOL_SOCKET, SO_RCVBUF), 81920);  // a quarter more, doubled by Linux
        EXPECT_NE(fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0);
        EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
    }
}

TEST(TcpFaults, AForkedChildTouchesNothing) {
    PairJob job;
    const int to = made(*job.one, 0);
    const int from = made(*job.zero, 1);
    ASSERT_GE(to, 0);
    ASSERT_GE(from, 0);
    EXPECT_EQ(in_child([&]() -> std::string {
                  job.one.reset();
                  job.zero.reset();
                  job.endpoints.clear();
                  return "gone";
              }),
              "gone");
    ASSERT_TRUE(give(to, "here"));
    EXPECT_EQ(get(from, 4), "here");
    const auto late_zero = job.group(0, 8);
    const auto late_one = job.group(1, 8);
    EXPECT_GE(made(*late_one, 0), 0);
}

TEST(TcpFaults, GroupsAndEndpointsMayEndAtAnyTime) {
    const std::uint64_t before = free_descriptors();
    for (int round = 0; round < 30; ++round) {
        LocalJob job(3);
        std::vector<std::unique_ptr<Connections>> groups;
        for (std::uint64_t number = 0; number < 3; ++number)
            for (int rank = 0; rank < 3; ++rank) {
                groups.push_back(job.group(rank, number, 2));
                for (int peer = 0; peer < 3; ++peer)
                    for (int lane = 0; peer != rank && lane < 2; ++lane) groups.back()->want(peer, lane);
                if (rank == 1 && round % 2 == 0) groups[groups.size() - 2].reset();
            }
        std::this_thread::sleep_for(std::chrono::microseconds(round * 50));
    }
    EXPECT_EQ(free_descriptors(), before);
}

}  // namespace
}  // namespace lapwing::tcp
