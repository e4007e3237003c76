// Those who are no members of the job, at a port that is open to all.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/error.hpp"
#include "links/tcp/handshake.hpp"
#include "links/tcp_job.hpp"

namespace lapwing::tcp {
namespace {

using testing::HasSubstr;

// A plain connection to a member's port.
Socket connect_to(std::uint16_t port) {
    Socket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return made;
}

constexpr const char* closed = " (closed)";  // of get(), after nothing else

Options short_handshake() {
    Options options = loopback();
    options.handshake = std::chrono::seconds(1);
    return options;
}

// The members still find each other.
void expect_well(LocalJob& job, std::uint64_t group) {
    const auto zero = job.group(0, group);
    const auto one = job.group(1, group);
    const int to = made(*one, 0);
    const int from = made(*zero, 1);
    ASSERT_GE(to, 0);
    ASSERT_GE(from, 0);
    ASSERT_TRUE(give(to, "well"));
    EXPECT_EQ(get(from, 4), "well");
}

TEST(TcpStrangers, AreTurnedAwayWithoutAWord) {
    LocalJob job(2, short_handshake());
    const std::uint16_t port = job.addresses[0].port;
    const Socket silent = connect_to(port);
    const Socket half = connect_to(port);
    const Claim claim{7, 1, 0, 0};
    const Handshake hello = Handshake::connecting(job.key, claim, random_nonce());
    ASSERT_EQ(send(half.get(), hello.output().data(), hello.output().size() / 2, MSG_NOSIGNAL),
              static_cast<ssize_t>(hello.output().size() / 2));
    const Socket garbage = connect_to(port);
    ASSERT_TRUE(give(garbage.get(), std::string(1000, 'x')));
    const Socket web = connect_to(port);
    ASSERT_TRUE(give(web.get(), "GET / HTTP/1.1\r\n\r\n"));
    connect_to(port).reset();
    expect_well(job, 7);
    for (const Socket* one : {&silent, &half, &garbage, &web}) EXPECT_EQ(get(one->get(), 1), closed);
    ASSERT_TRUE(within(long_enough, [&] { return job.said[0].table().size() == 4; })) << job.said[0].all();
    EXPECT_EQ(job.said[0].count("rejected a connection from 127.0.0.1:"), 4) << job.said[0].all();
    EXPECT_EQ(job.said[0].count("its first message is not a hello of Lapwing"), 2) << job.said[0].all();
    EXPECT_EQ(job.said[0].count("did not authenticate within 1 s"), 2) << job.said[0].all();
    EXPECT_EQ(job.said[1].all(), "");
    expect_well(job, 8);
}

TEST(TcpStrangers, AnotherJobIsTurnedAwayAndToldSo) {
    Options options = loopback(std::chrono::seconds(1));
    LocalJob job(2, options);
    // It has the addresses, and another key.
    LocalJob other(2, options, false);
    std::vector<Address> mixed = {job.addresses[0], other.addresses[1]};
    other.endpoints[1]->admit(other.key, mixed, 1);
    const auto stranger = other.endpoints[1]->group(7, {0, 1}, 1, 1);
    stranger->want(0, 0);
    expect_well(job, 7);
    EXPECT_THAT([&] { made(*stranger, 0); },
                testing::ThrowsMessage<Error>(HasSubstr("closed the connection")));
    EXPECT_TRUE(job.said[0].has("does not have the key of this job")) << job.said[0].all();
    expect_well(job, 8);
}

TEST(SlowTcpStrangers, HundredsDoNotStopTheMembers) {
    LocalJob job(2);
    std::vector<Socket> crowd;
    const auto come = [&](int count) {
        for (int i = 0; i < count; ++i) crowd.push_back(connect_to(job.addresses[0].port));
    };
    come(300);
    expect_well(job, 7);
    come(300);
    expect_well(job, 8);
    // The oldest were pushed out; a crowd does not flood the log.
    for (int i = 0; i < 100; ++i) EXPECT_EQ(get(crowd[i].get(), 1), closed) << i;
    EXPECT_EQ(job.said[0].count("too many unauthenticated connections"), 10) << job.said[0].all();
    EXPECT_TRUE(within(long_enough, [&] { return job.said[0].has(" more connections in the last 10 s"); }));
}

TEST(TcpStrangers, MembersComeAgainAfterAStrangerTookTheirPlace) {
    // Somebody listens at the peer's port, silent at first: the peer itself comes there later.
    Options options = short_handshake();
    LocalJob job(2, options, false);
    job.endpoints[1]->admit(job.key, job.addresses, 1);
    const auto one = job.group(1);
    one->want(0, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // longer than a handshake
    EXPECT_EQ(one->descriptor(0, 0), -1);
    job.endpoints[0]->admit(job.key, job.addresses, 0);
    const auto zero = job.group(0);
    EXPECT_GE(made(*one, 0), 0);
    EXPECT_GE(made(*zero, 1), 0);
}

}  // namespace
}  // namespace lapwing::tcp
