// Connections between the members of a job.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp/sockets.hpp"
#include "links/tcp_job.hpp"
#include "support/unit.hpp"

namespace lapwing::tcp {
namespace {

using testing::HasSubstr;

TEST(TcpConnections, AllPairsOnAllLanesCarryBytesBothWays) {
    LocalJob job(5);
    // A part of the job, whose ranks have another order than the members.
    const std::vector<int> members = {4, 0, 2};
    constexpr int ranks = 3;
    constexpr int lanes = 2;
    std::vector<std::unique_ptr<Connections>> groups;
    for (int rank = 0; rank < ranks; ++rank)
        groups.push_back(job.endpoints[members[rank]]->group(9, members, rank, lanes));
    const auto each = [&](const auto& work) {
        for (int rank = 0; rank < ranks; ++rank)
            for (int peer = 0; peer < ranks; ++peer)
                for (int lane = 0; peer != rank && lane < lanes; ++lane) work(rank, peer, lane);
    };
    each([&](int rank, int peer, int lane) { groups[rank]->want(peer, lane); });
    std::set<int> descriptors;
    each([&](int rank, int peer, int lane) {
        const int descriptor = made(*groups[rank], peer, lane);
        ASSERT_GE(descriptor, 0) << rank << " to " << peer;
        descriptors.insert(descriptor);
        ASSERT_TRUE(give(descriptor, std::to_string(rank * 100 + peer * 10 + lane + 1000)));
    });
    EXPECT_EQ(descriptors.size(), ranks * (ranks - 1) * lanes);
    each([&](int rank, int peer, int lane) {
        EXPECT_EQ(get(groups[rank]->descriptor(peer, lane), 4),
                  std::to_string(peer * 100 + rank * 10 + lane + 1000));
    });
    EXPECT_THAT(groups[0]->describe(1), HasSubstr("rank 1 (" + std::string(job.addresses[0].name)));
    EXPECT_THAT(groups[0]->describe(1), HasSubstr("127.0.0.1"));
    EXPECT_EQ(groups[0]->lanes(), lanes);
    for (const Lines_said& said : job.said) EXPECT_EQ(said.all(), "");
}

TEST(TcpConnections, OnlyWhatIsWantedIsMade) {
    LocalJob job(3);
    const auto zero = job.group(0);
    const auto one = job.group(1);
    const auto two = job.group(2);
    ASSERT_GE(made(*two, 0), 0);
    ASSERT_GE(made(*zero, 2), 0);
    EXPECT_EQ(one->descriptor(0, 0), -1);
    EXPECT_EQ(one->descriptor(2, 0), -1);
    EXPECT_EQ(zero->descriptor(1, 0), -1);
    // The larger member connects: a wish of the smaller one alone makes nothing.
    zero->want(1, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(zero->descriptor(1, 0), -1);
    EXPECT_EQ(one->descriptor(0, 0), -1);
    ASSERT_GE(made(*one, 0), 0);
    ASSERT_GE(made(*zero, 1), 0);
}

TEST(TcpConnections, ARefusedConnectionNamesThePeerAndWhy) {
    LocalJob job(3, loopback(std::chrono::seconds(1)));
    const auto two = job.group(2);
    const std::string port = std::to_string(job.addresses[0].port);
    job.endpoints[0].reset();
    EXPECT_THAT([&] { made(*two, 0); }, testing::ThrowsMessage<Error>(testing::AllOf(
                                            HasSubstr("rank 0 (" + std::string(job.addresses[0].name)),
                                            HasSubstr("127.0.0.1"), HasSubstr(port), HasSubstr("refused"))));
    // The others go on.
    const auto one = job.group(1);
    EXPECT_GE(made(*two, 1), 0);
}

TEST(TcpConnections, AGroupMayComeLate) {
    LocalJob job(2);
    auto one = job.group(1);
    const int to = made(*one, 0);
    ASSERT_GE(to, 0);
    ASSERT_TRUE(give(to, "early"));
    const auto zero = job.group(0);
    const int from = made(*zero, 1);
    ASSERT_GE(from, 0);
    EXPECT_EQ(get(from, 5), "early");
    ASSERT_TRUE(give(from, "thanks"));
    EXPECT_EQ(get(to, 6), "thanks");
}

TEST(TcpConnections, WhatWasSentByAGroupThatIsGoneStillArrives) {
    LocalJob job(2);
    auto one = job.group(1);
    const int to = made(*one, 0);
    ASSERT_TRUE(give(to, "farewell"));
    one.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto zero = job.group(0);
    EXPECT_EQ(get(made(*zero, 1), 8), "farewell");
}

TEST(TcpConnections, AnEmptyOneThatIsGoneIsNotKept) {
    LocalJob job(2);
    const std::uint64_t before = free_descriptors();
    for (std::uint64_t number = 0; number < 20; ++number) {
        const auto one = job.group(1, number);
        ASSERT_GE(made(*one, 0), 0);
    }
    EXPECT_TRUE(within(long_enough, [&] { return free_descriptors() == before; }))
        << before << " before, " << free_descriptors() << " now";
}

TEST(TcpConnections, EndWithTheirGroup) {
    LocalJob job(2);
    const std::uint64_t before = free_descriptors();
    auto zero = job.group(0);
    auto one = job.group(1);
    const int to = made(*one, 0);
    const int from = made(*zero, 1);
    ASSERT_GE(from, 0);
    zero.reset();
    EXPECT_EQ(get(to, 1), " (closed)");
    one.reset();
    EXPECT_EQ(free_descriptors(), before);
    // The number is free again.
    zero = job.group(0);
    one = job.group(1);
    EXPECT_GE(made(*one, 0), 0);
    EXPECT_THROW(job.group(0), Error);
}

TEST(TcpConnections, TellWhenTheyChange) {
    LocalJob job(3, loopback(std::chrono::seconds(1)));
    const auto one = job.group(1);
    const auto zero = job.group(0);
    std::atomic<int> ones{0};
    std::atomic<int> zeros{0};
    one->on_change([&] {
        ++ones;
        one->want(0, 0);  // the program may call from here
    });
    zero->on_change([&] { ++zeros; });
    one->want(0, 0);
    EXPECT_TRUE(within(long_enough, [&] { return ones == 1 && zeros == 1; }));
    EXPECT_GE(one->descriptor(0, 0), 0);
    EXPECT_GE(zero->descriptor(1, 0), 0);
    // A failure is a change, too; and none comes after the work was removed.
    const auto two = job.group(2);
    std::atomic<int> twos{0};
    two->on_change([&] { ++twos; });
    one->on_change({});
    ASSERT_GE(made(*two, 1), 0);
    EXPECT_TRUE(within(long_enough, [&] { return twos == 1; }));
    EXPECT_EQ(ones, 1);
    two->on_change({});
}

TEST(TcpConnections, WhatDoesNotExistIsRefused) {
    LocalJob job(2);
    const auto one = job.group(1, 7, 2);
    for (const int peer : {-1, 1, 2}) {
        EXPECT_THROW(one->want(peer, 0), Error) << peer;
        EXPECT_THROW(one->descriptor(peer, 0), Error) << peer;
    }
    EXPECT_THROW(one->want(0, 2), Error);
    EXPECT_THROW(one->want(0, -1), Error);
    EXPECT_THROW(job.endpoints[0]->group(8, {0, 1}, 1, 1), Error);
    EXPECT_THROW(job.endpoints[0]->group(8, {0, 2}, 0, 1), Error);
    EXPECT_THROW(job.endpoints[0]->group(8, {0, 1}, 0, 0), Error);
}

TEST(TcpConnections, OverAllInterfacesAndEachFamily) {
    for (const char* family : {"auto", "ipv4", "ipv6"}) {
        SCOPED_TRACE(family);
        Options options = loopback();
        options.interfaces = "";
        options.family = family;
        std::unique_ptr<LocalJob> job;
        try {
            job = std::make_unique<LocalJob>(2, options);
        } catch (const Error& error) {
            GTEST_SKIP() << error.what();  // a host without IPv6
        }
        EXPECT_EQ(job->addresses[0].host, job->addresses[1].host);
        const auto zero = job->group(0);
        const auto one = job->group(1);
        EXPECT_GE(made(*one, 0), 0);
        EXPECT_GE(made(*zero, 1), 0);
        EXPECT_THAT(one->describe(0), HasSubstr(options.family == "ipv6" ? "::1" : "127.0.0.1"));
    }
}

TEST(TcpConnections, SeveralPlacesShareAPort) {
    Options options = loopback();
    options.interfaces = "127.0.0.1,0.0.0.0/0,::/0";
    LocalJob job(2, options, false);
    if (job.addresses[0].ips[1].family == 0) GTEST_SKIP() << "this host has one address only";
    for (int ip = 0; ip < 2; ++ip) {
        LocalJob each(2, options, false);
        Address only = each.addresses[0];
        only.ips[0] = only.ips[ip];
        std::fill(std::begin(only.ips) + 1, std::end(only.ips), IpAddress{});
        each.endpoints[0]->admit(each.key, each.addresses, 0);
        each.endpoints[1]->admit(each.key, {only, each.addresses[1]}, 1);
        const auto zero = each.group(0);
        const auto one = each.group(1);
        EXPECT_GE(made(*one, 0), 0) << ip;
    }
}

TEST(TcpConnections, APlaceThatRefusesGivesWayToTheNext) {
    LocalJob job(2, loopback(), false);
    auto addresses = job.addresses;
    // Nobody listens there, and the one that does stands behind it.
    addresses[0].ips[1] = addresses[0].ips[0];
    addresses[0].ips[0].bytes[3] = 77;
    job.endpoints[0]->admit(job.key, job.addresses, 0);
    job.endpoints[1]->admit(job.key, addresses, 1);
    const auto zero = job.group(0);
    const auto one = job.group(1);
    EXPECT_GE(made(*one, 0), 0);
}

// What the peer has sent behind its welcome would be lost with a connection that is given up before it comes.
TEST(TcpConnections, AWelcomeThatIsLateIsAwaited) {
    Options options = loopback();
    options.handshake = std::chrono::seconds(1);
    LocalJob job(2, options, false);
    // Member 0 is played by this test.
    const Socket door(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in ip{};
    ip.sin_family = AF_INET;
    ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof ip;
    ASSERT_EQ(bind(door.get(), reinterpret_cast<const sockaddr*>(&ip), size), 0);
    ASSERT_EQ(listen(door.get(), 5), 0);
    ASSERT_EQ(getsockname(door.get(), reinterpret_cast<sockaddr*>(&ip), &size), 0);
    auto addresses = job.addresses;
    addresses[0].port = ntohs(ip.sin_port);
    job.endpoints[1]->admit(job.key, addresses, 1);
    const auto one = job.group(1);
    one->want(0, 0);
    const Socket zero(accept(door.get(), nullptr, nullptr));
    Handshake handshake = Handshake::accepting(job.key, 0, 2, random_nonce());
    const auto hear = [&] {
        const std::string text = get(zero.get(), handshake.wanted());
        handshake.take({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
    };
    const auto speak = [&](const std::string& more) {
        const auto out = handshake.output();
        ASSERT_TRUE(
            give(zero.get(), std::string(reinterpret_cast<const char*>(out.data()), out.size()) + more));
        handshake.sent(out.size());
    };
    hear();
    speak("");
    hear();
    pollfd given_up[] = {{door.get(), POLLIN, 0}, {zero.get(), POLLIN, 0}};
    EXPECT_EQ(poll(given_up, 2, 1500), 0) << "longer than the limit of a handshake";
    speak("message");
    EXPECT_TRUE(handshake.done());
    EXPECT_EQ(get(made(*one, 0), 7), "message");
}

TEST(TcpConnections, ManyThreadsMayAsk) {
    PairJob job(loopback(), 8);
    std::vector<std::thread> threads;
    std::atomic<int> found{0};
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            Connections& own = i % 2 == 0 ? *job.zero : *job.one;
            for (int lane = 0; lane < 8; ++lane) found += made(own, i % 2 == 0 ? 1 : 0, lane) >= 0 ? 1 : 0;
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(found, 32);
}

// From now on a system call of this thread other than exit_group ends the process.
bool forbid_system_calls() {
    sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

[[noreturn]] void look_without_system_calls() {
    PairJob job;
    bool there = made(*job.one, 0) >= 0 && forbid_system_calls();
    for (int i = 0; i < 1000; ++i) {
        job.one->want(0, 0);
        there = there && job.one->descriptor(0, 0) >= 0;
    }
    // Not _exit(), which a sanitizer puts calls of its own before.
    syscall(SYS_exit_group, there ? 0 : 1);
    std::abort();
}

TEST(TcpConnections, LooksMakeNoSystemCalls) {
    EXPECT_EXIT(look_without_system_calls(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lapwing::tcp
