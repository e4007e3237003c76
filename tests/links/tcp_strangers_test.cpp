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
class Raw {
  public:
    explicit Raw(std::uint16_t port) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    Raw(Raw&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), connected_(other.connected_) {}
    Raw(const Raw&) = delete;
    ~Raw() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    int get() const { return descriptor_; }
    bool connected() const { return connected_; }
    // What comes until the other side closes; "(open)" at the end when it does not.
    std::string poll_descriptor() const {
        std::string text;
        while (true) {
            pollfd ready{descriptor_, POLLIN, 0};
            if (poll(&ready, 1, static_cast<int>(long_enough.count())) <= 0) return text + "(open)";
            char bytes[256];
            const ssize_t count = recv(descriptor_, bytes, sizeof bytes, 0);
            if (count <= 0) return text;
            text.append(bytes, static_cast<std::size_t>(count));
        }
    }

  private:
    int descriptor_;
    bool connected_ = false;
};

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
    const Raw silent(port);
    const Raw half(port);
    ASSERT_TRUE(silent.connected() && half.connected());
    const Claim claim{7, 1, 0, 0};
    const Handshake hello = Handshake::connecting(job.key, claim, random_nonce());
    ASSERT_EQ(send(half.get(), hello.output().data(), hello.output().size() / 2, MSG_NOSIGNAL),
              static_cast<ssize_t>(hello.output().size() / 2));
    const Raw garbage(port);
    ASSERT_TRUE(give(garbage.get(), std::string(1000, 'x')));
    const Raw web(port);
    ASSERT_TRUE(give(web.get(), "GET / HTTP/1.1\r\n\r\n"));
    { const Raw scanner(port); }
    expect_well(job, 7);
    for (const Raw* one : {&silent, &half, &garbage, &web}) EXPECT_EQ(one->poll_descriptor(), "");
    ASSERT_TRUE(within(long_enough, [&] { return job.said[0].table().size() == 4; })) << job.said[0].all();
    EXPECT_EQ(job.said[0].count("rejected a connection from 127.0.0.1:"), 4) << job.said[0].all();
    EXPECT_EQ(job.said[0].count("its first message is not a hello of Lapwing"), 2) << job.said[0].all();
    EXPECT_EQ(job.said[0].count("did not authenticate within 1 s"), 2) << job.said[0].all();
    EXPECT_EQ(job.said[1].all(), "");
    expect_well(job, 8);
}

TEST(TcpStrangers, AnotherJobIsTurnedAwayAndToldSo) {
    Options options = loopback();
    options.patience = std::chrono::seconds(1);
    LocalJob job(2, options);
    // It has the addresses, and another key.
    LocalJob other(2, options, false);
    std::vector<Address> mixed = {job.addresses[0], other.addresses[1]};
    other.endpoints[1]->admit(other.key, mixed, 1);
    const auto stranger = other.endpoints[1]->group(7, {0, 1}, 1, 1);
    stranger->want(0, 0);
    expect_well(job, 7);
    try {
        const int descriptor = made(*stranger, 0);
        ADD_FAILURE() << "a stranger got the connection " << descriptor;
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("closed the connection"));
    }
    EXPECT_TRUE(job.said[0].has("does not have the key of this job")) << job.said[0].all();
    expect_well(job, 8);
}

TEST(TcpStrangers, AFalseMemberDoesNotWinAConnector) {
    Options options = loopback();
    options.patience = std::chrono::seconds(1);
    // At the place of member 0 somebody else listens, who accepts all.
    LocalJob job(2, options, false);
    LocalJob other(2, options);
    job.addresses[0] = other.addresses[0];
    job.endpoints[1]->admit(job.key, job.addresses, 1);
    const auto one = job.endpoints[1]->group(7, {0, 1}, 1, 1);
    EXPECT_THROW(made(*one, 0), Error);
}

TEST(TcpStrangers, AnotherMemberIsNotMistaken) {
    Options options = loopback();
    options.patience = std::chrono::seconds(1);
    LocalJob job(3, options, false);
    job.endpoints[0]->admit(job.key, job.addresses, 0);
    job.endpoints[1]->admit(job.key, job.addresses, 1);
    // Member 2 takes 1 for 0.
    job.endpoints[2]->admit(job.key, {job.addresses[1], job.addresses[0], job.addresses[2]}, 2);
    const auto two = job.group(2);
    EXPECT_THROW(made(*two, 0), Error);
    EXPECT_TRUE(job.said[1].has("asks for a different rank")) << job.said[1].all();
}

TEST(TcpStrangers, AReplayedHelloGetsNoFurther) {
    LocalJob job(2, short_handshake());
    const std::uint16_t port = job.addresses[0].port;
    Handshake member = Handshake::connecting(job.key, {7, 1, 0, 0}, random_nonce());
    std::string recorded;
    const auto speak = [&](const Raw& to) {
        const auto out = member.output();
        const std::string text(reinterpret_cast<const char*>(out.data()), out.size());
        recorded += text;
        member.sent(out.size());
        return give(to.get(), text);
    };
    const auto hear = [&](const Raw& from) {
        const std::string text = get(from.get(), member.wanted());
        member.take({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
    };
    const Raw first(port);
    ASSERT_TRUE(speak(first));
    hear(first);
    ASSERT_TRUE(speak(first));
    hear(first);
    ASSERT_TRUE(member.done());
    const Raw replay(port);
    ASSERT_TRUE(give(replay.get(), recorded));
    // It gets a challenge, and nothing after its answer.
    EXPECT_EQ(replay.poll_descriptor().size(), Handshake::challenge_bytes);
    EXPECT_TRUE(within(long_enough, [&] { return job.said[0].has("cannot answer"); })) << job.said[0].all();
    // The true connection is parked, and found.
    const auto zero = job.group(0);
    const int descriptor = made(*zero, 1);
    ASSERT_GE(descriptor, 0);
    ASSERT_TRUE(give(first.get(), "true"));
    EXPECT_EQ(get(descriptor, 4), "true");
}

TEST(SlowTcpStrangers, HundredsDoNotStopTheMembers) {
    LocalJob job(2);
    std::vector<Raw> crowd;
    const auto come = [&](int count) {
        for (int i = 0; i < count; ++i) crowd.emplace_back(job.addresses[0].port);
    };
    come(300);
    expect_well(job, 7);
    come(300);
    expect_well(job, 8);
    // The oldest were pushed out; a crowd does not flood the log.
    for (int i = 0; i < 100; ++i) EXPECT_EQ(crowd[i].poll_descriptor(), "") << i;
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

TEST(TcpStrangers, TheKeyIsInNoLine) {
    LocalJob job(2);
    const Raw garbage(job.addresses[0].port);
    ASSERT_TRUE(give(garbage.get(), "garbage"));
    ASSERT_TRUE(within(long_enough, [&] { return !job.said[0].table().empty(); }));
    const std::string key(reinterpret_cast<const char*>(job.key.data()), job.key.size());
    EXPECT_EQ(job.said[0].all().find(key.substr(0, 4)), std::string::npos);
    EXPECT_NE(random_key(), random_key());
}

}  // namespace
}  // namespace lapwing::tcp
