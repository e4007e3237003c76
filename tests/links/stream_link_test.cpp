// Messages over stream sockets: order, early ones, long ones, and what goes wrong.
#include "links/streams/stream_link.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/error.hpp"
#include "links/message.hpp"
#include "links/socket_pairs.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;

class StreamLinkTest : public testing::Test {
  protected:
    std::vector<std::unique_ptr<Connections>> sockets = socket_pairs(2, 1);
    std::unique_ptr<StreamLink> links[2] = {std::make_unique<StreamLink>(*sockets[0], 2),
                                            std::make_unique<StreamLink>(*sockets[1], 2)};

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
    void poke(int at) { links[at]->test(pending(at)); }
    std::string failure_of(int at, Link::Transfer& transfer) {
        try {
            for (int tries = 0; tries < 1000; ++tries)
                if (links[at]->test(transfer)) return "complete";
            return "waits";
        } catch (const Error& error) {
            return error.what();
        }
    }
    Link::Transfer& pending(int at) {
        if (!pending_[at].active) links[at]->recv(1 - at, nullptr, 0, 999, pending_[at]);
        return pending_[at];
    }
    int raw(int at) { return sockets[static_cast<std::size_t>(at)]->descriptor(1 - at, 0); }

  private:
    Link::Transfer pending_[2];
};

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

// By hand, as the peer would write it.
struct Header {
    std::uint32_t kind;
    std::uint32_t channel;
    std::uint64_t group;
    std::uint64_t bytes;
};
enum Kind : std::uint32_t { eager, request_to_send, clear_to_send, refused, data };

// A grant behind the bytes that go the other way would cost as long as the network takes for them: the peer's
// own message would only begin then.
TEST_F(StreamLinkTest, AGrantLeavesBeforeTheBytesThatGoTheOtherWay) {
    const Bytes there = message(300000, 1);
    Bytes back(300000);
    Link::Transfer sending;
    Link::Transfer receiving;
    // The peer has posted its receive, and has not offered its own message yet.
    const Header granted{clear_to_send, 1, 0, there.size()};
    ASSERT_EQ(::send(raw(1), &granted, sizeof granted, MSG_NOSIGNAL), 24);
    ASSERT_FALSE(links[0]->test(pending(0)));
    recv(0, back, 1, receiving);
    send(0, there, 1, sending);
    links[0]->flush();
    Header left[3] = {};
    ASSERT_EQ(::recv(raw(1), left, sizeof left, MSG_WAITALL), 72);
    EXPECT_EQ(left[0].kind, clear_to_send);
    EXPECT_EQ(left[1].kind, request_to_send);
    EXPECT_EQ(left[2].kind, data);
    for (const Header& header : left) EXPECT_EQ(header.bytes, there.size());
    // A start sends no more of it than a little.
    int bytes = 0;
    ASSERT_EQ(::ioctl(raw(1), FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 32768);
    // The offer comes at last, and asks for nothing: what leaves is the message.
    const Header offered{request_to_send, 1, 0, back.size()};
    ASSERT_EQ(::send(raw(1), &offered, sizeof offered, MSG_NOSIGNAL), 24);
    Bytes taken(there.size());
    for (std::size_t read = 0; read < taken.size();) {
        links[0]->progress();
        const ssize_t part = ::recv(raw(1), taken.data() + read, taken.size() - read, MSG_DONTWAIT);
        if (part > 0) read += static_cast<std::size_t>(part);
    }
    EXPECT_EQ(taken, there);
    EXPECT_TRUE(links[0]->test(sending));
    EXPECT_EQ(::recv(raw(1), &bytes, 1, MSG_DONTWAIT), -1);
}

// A rank that is early has been granted nothing; answers go before bytes that have not begun to leave.
TEST_F(StreamLinkTest, AnAnswerGoesBeforeTheBytesOfALongMessage) {
    const Bytes there = message(300000, 1);
    Bytes back(300000);
    Link::Transfer sending;
    Link::Transfer receiving;
    send(0, there, 1, sending);
    links[0]->flush();
    const Header come[2] = {{request_to_send, 1, 0, back.size()}, {clear_to_send, 1, 0, there.size()}};
    ASSERT_EQ(::send(raw(1), come, sizeof come, MSG_NOSIGNAL), 48);
    for (const std::uint32_t kind : {request_to_send, clear_to_send, data}) {
        // Its own receive comes between the peer's offer and the bytes of this side.
        if (kind == clear_to_send) {
            recv(0, back, 1, receiving);
            ASSERT_FALSE(links[0]->test(receiving));
        }
        Header left{};
        ASSERT_EQ(::recv(raw(1), &left, sizeof left, MSG_DONTWAIT), 24);
        EXPECT_EQ(left.kind, kind);
    }
}

TEST_F(StreamLinkTest, OneSystemCallTakesWhatOneStartHasForAPeer) {
    Bytes received[3] = {Bytes(20000), Bytes(20000), Bytes(20000)};
    Link::Transfer receiving[3];
    for (std::size_t i = 0; i < 3; ++i) recv(0, received[i], static_cast<std::uint32_t>(i), receiving[i]);
    char byte = 0;
    EXPECT_EQ(::recv(raw(1), &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
    links[0]->flush();
    int bytes = 0;
    ASSERT_EQ(::ioctl(raw(1), FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 72);
}

// Two ranks, each with a link of a fabric of its own.
struct Pair {
    std::vector<std::unique_ptr<Connections>> sockets = socket_pairs(2, 1);
    StreamFabric fabrics[2] = {StreamFabric(*sockets[0], 2), StreamFabric(*sockets[1], 2)};
    std::unique_ptr<Link> links[2] = {fabrics[0].link(0, {0, 1}), fabrics[1].link(0, {0, 1})};
};

// The receiver reports the error; later messages on that channel are right, whatever has crossed.
TEST_F(StreamLinkTest, AMessageAfterOneOfAnotherLengthIsRight) {
    constexpr std::size_t cases[][2] = {{300000, 10}, {10, 300000}, {300000, 200000}, {300000, 0}};
    for (const auto& [sent, expected] : cases) {
        for (const char* const order : {"receive, flush, send", "both, flush", "send, flush, receive"}) {
            SCOPED_TRACE(testing::Message() << sent << " where " << expected << ": " << order);
            Pair pair;
            Link& from = *pair.links[0];
            Link& to = *pair.links[1];
            const auto move = [&] {
                for (int i = 0; i < 10; ++i)
                    for (const auto& link : pair.links) link->progress();
            };
            const Bytes wrong = message(sent, 1);
            const Bytes right = message(300000, 2);
            Bytes room(expected);
            Bytes target(right.size());
            Link::Transfer first;
            Link::Transfer failing;
            const bool receive_first = order[0] == 'r';
            if (receive_first) {
                to.recv(0, room.data(), expected, 5, failing);
                move();
            }
            from.send(1, wrong.data(), sent, 5, first);
            if (order[0] == 's') move();
            if (!receive_first) to.recv(0, room.data(), expected, 5, failing);
            move();
            EXPECT_THAT([&] { to.test(failing); },
                        testing::ThrowsMessage<Error>(HasSubstr("are expected: ranks disagree")));
            EXPECT_TRUE(from.test(first));
            Link::Transfer next;
            Link::Transfer second;
            to.recv(0, target.data(), target.size(), 5, next);
            move();
            from.send(1, right.data(), right.size(), 5, second);
            move();
            EXPECT_TRUE(to.test(next));
            EXPECT_TRUE(from.test(second));
            EXPECT_EQ(target, right);
        }
    }
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
    EXPECT_THAT(failure_of(1, receiving), HasSubstr("unrecognized message from rank 0"));
    // And all that comes later.
    EXPECT_THROW(recv(1, received, 2, receiving), Error);
}

}  // namespace
}  // namespace lapwing
