// Messages over stream sockets: order, early ones, long ones, and what goes wrong.
#include "links/stream_link.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "base/error.hpp"
#include "links/process/socket_pairs.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;

class StreamLinkTest : public testing::Test {
  protected:
    using Bytes = std::vector<std::byte>;

    std::vector<std::unique_ptr<Connections>> sockets = socket_pairs(2, 1);
    std::unique_ptr<StreamLink> links[2] = {std::make_unique<StreamLink>(*sockets[0], 2),
                                            std::make_unique<StreamLink>(*sockets[1], 2)};

    static Bytes message(std::size_t bytes, int number) {
        Bytes made(bytes);
        for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + i / 256 + number);
        return made;
    }
    void send(int from, const Bytes& bytes, std::uint32_t channel, Link::Transfer& transfer) {
        links[from]->send(1 - from, bytes.data(), bytes.size(), channel, transfer);
    }
    void recv(int at, Bytes& bytes, std::uint32_t channel, Link::Transfer& transfer) {
        links[at]->recv(1 - at, bytes.data(), bytes.size(), channel, transfer);
    }
    // Moves both until the transfer of one is complete.
    void finish(int at, Link::Transfer& transfer) {
        for (int tries = 0; tries < 100000; ++tries) {
            if (links[at]->test(transfer)) return;
            poke(1 - at);
        }
        FAIL() << "it does not complete";
    }
    // Moves a link that nobody waits at.
    void poke(int at) {
        if (!pending_[at].active) links[at]->recv(1 - at, nullptr, 0, 999, pending_[at]);
        links[at]->test(pending_[at]);
    }
    std::string failure_of(int at, Link::Transfer& transfer) {
        try {
            for (int tries = 0; tries < 1000; ++tries) {
                if (links[at]->test(transfer)) return "complete";
            }
            return "waits";
        } catch (const Error& error) {
            return error.what();
        }
    }
    int raw(int at) { return sockets[static_cast<std::size_t>(at)]->descriptor(1 - at, 0); }

  private:
    Link::Transfer pending_[2];
};

TEST_F(StreamLinkTest, ShortAndLongMessagesKeepTheirOrderOnAChannel) {
    constexpr std::size_t sizes[] = {0, 1, 16384, 16385, 3, 500000, 0};
    constexpr std::size_t count = std::size(sizes);
    for (const bool early : {false, true}) {
        std::vector<Bytes> sent;
        std::vector<Bytes> received;
        for (std::size_t i = 0; i < count; ++i) {
            sent.push_back(message(sizes[i], static_cast<int>(i)));
            received.emplace_back(sizes[i]);
        }
        Link::Transfer sends[count];
        Link::Transfer receives[count];
        if (!early) {
            for (std::size_t i = 0; i < count; ++i) recv(1, received[i], 5, receives[i]);
        }
        for (std::size_t i = 0; i < count; ++i) send(0, sent[i], 5, sends[i]);
        if (early) {
            for (int i = 0; i < 10; ++i) poke(1);
            for (std::size_t i = 0; i < count; ++i) recv(1, received[i], 5, receives[i]);
        }
        for (std::size_t i = count; i-- > 0;) finish(1, receives[i]);
        for (std::size_t i = 0; i < count; ++i) finish(0, sends[i]);
        EXPECT_EQ(received, sent);
    }
}

TEST_F(StreamLinkTest, AChannelDoesNotWaitForAnother) {
    const Bytes first = message(200000, 1);
    const Bytes second = message(100, 2);
    Bytes got_first(first.size());
    Bytes got_second(second.size());
    Link::Transfer sends[2];
    Link::Transfer receives[2];
    send(0, first, 1, sends[0]);
    send(0, second, 2, sends[1]);
    recv(1, got_second, 2, receives[1]);
    finish(1, receives[1]);
    EXPECT_EQ(got_second, second);
    // A long message does not travel before it is wanted.
    EXPECT_EQ(failure_of(0, sends[0]), "waits");
    recv(1, got_first, 1, receives[0]);
    finish(1, receives[0]);
    finish(0, sends[0]);
    EXPECT_EQ(got_first, first);
}

TEST_F(StreamLinkTest, LengthsThatDifferAreAnErrorAtBothSides) {
    const Bytes sent = message(10, 1);
    Bytes received(11);
    Link::Transfer sending;
    Link::Transfer receiving;
    send(0, sent, 1, sending);
    recv(1, received, 1, receiving);
    EXPECT_THAT(failure_of(1, receiving), HasSubstr("rank 0 has sent 10 bytes where 11 are expected"));
    Link::Transfer next;
    recv(0, received, 2, next);
    EXPECT_THAT(failure_of(0, next), HasSubstr("rank 1 closed the connection"));
}

TEST_F(StreamLinkTest, APeerMayLeaveWhenNothingIsWantedFromIt) {
    const Bytes sent = message(50, 3);
    Bytes received(50);
    Link::Transfer sending;
    Link::Transfer receiving;
    send(0, sent, 1, sending);
    ASSERT_TRUE(links[0]->test(sending));
    ::shutdown(raw(0), SHUT_RDWR);
    recv(1, received, 1, receiving);
    EXPECT_EQ(failure_of(1, receiving), "complete");
    EXPECT_EQ(received, sent);
    Link::Transfer more;
    std::string why;
    try {
        recv(1, received, 2, more);
        why = failure_of(1, more);
    } catch (const Error& error) {
        why = error.what();
    }
    EXPECT_THAT(why, HasSubstr("rank 0 closed the connection"));
}

TEST_F(StreamLinkTest, WhatIsNoMessageIsAnError) {
    const unsigned char noise[24] = {9, 9, 9, 9};
    Bytes received(50);
    Link::Transfer receiving;
    recv(1, received, 1, receiving);
    ASSERT_EQ(::send(raw(0), noise, sizeof noise, MSG_NOSIGNAL), 24);
    EXPECT_THAT(failure_of(1, receiving), HasSubstr("no message of this version"));
    // And all that comes later.
    EXPECT_THROW(recv(1, received, 2, receiving), Error);
}

TEST_F(StreamLinkTest, ConnectionsThatAreGivenUpFail) {
    Bytes received(50);
    Link::Transfer receiving;
    recv(1, received, 1, receiving);
    sockets[1]->give_up("no more");
    EXPECT_THAT(failure_of(1, receiving), HasSubstr("closed the connection"));
}

}  // namespace
}  // namespace lapwing
