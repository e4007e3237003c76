#include "links/tcp/handshake.hpp"
#include "support/unit.hpp"

namespace lapwing::tcp {
namespace {

Key key_of(unsigned char byte) {
    Key key;
    key.fill(byte);
    return key;
}
Nonce nonce_of(unsigned char byte) {
    Nonce nonce;
    nonce.fill(byte);
    return nonce;
}
using Bytes = std::vector<unsigned char>;

Bytes said(Handshake& handshake) {
    const auto out = handshake.output();
    Bytes bytes(out.begin(), out.end());
    handshake.sent(bytes.size());
    return bytes;
}

const Claim claim{0x1122334455667788u, 3, 1, 2};

struct Pair {
    Key one = key_of(1);
    Key other = key_of(1);
    Handshake from = Handshake::connecting(one, claim, nonce_of(7));
    Handshake to = Handshake::accepting(other, 1, 4, nonce_of(8));

    // Messages in turn, until one side has nothing to say. What passes goes through `change(message,
    // number)`.
    template <typename Change>
    void run(const Change& change) {
        Handshake* speaks = &from;
        Handshake* hears = &to;
        for (int number = 0; number < 4; ++number) {
            Bytes message = said(*speaks);
            if (message.empty()) return;
            change(message, number);
            hears->take(message);
            std::swap(speaks, hears);
        }
    }
    void run() {
        run([](Bytes&, int) {});
    }
};

TEST(TcpHandshake, ThoseWithTheKeyAgree) {
    Pair pair;
    pair.run();
    EXPECT_TRUE(pair.from.done());
    EXPECT_TRUE(pair.to.done());
    EXPECT_EQ(pair.to.claim(), claim);
    EXPECT_EQ(pair.from.failure(), nullptr);
    EXPECT_EQ(pair.to.failure(), nullptr);
    // Nothing is read beyond the handshake.
    EXPECT_EQ(pair.from.wanted(), 0u);
    EXPECT_EQ(pair.to.wanted(), 0u);
}

TEST(TcpHandshake, BytesMayComeOneByOne) {
    Pair pair;
    for (int turn = 0; turn < 4; ++turn) {
        Handshake& speaks = turn % 2 == 0 ? pair.from : pair.to;
        Handshake& hears = turn % 2 == 0 ? pair.to : pair.from;
        while (!speaks.output().empty()) {
            const unsigned char byte = speaks.output()[0];
            speaks.sent(1);
            ASSERT_GT(hears.wanted(), 0u);
            hears.take({&byte, 1});
        }
    }
    EXPECT_TRUE(pair.from.done());
    EXPECT_TRUE(pair.to.done());
}

TEST(TcpHandshake, AnotherKeyIsFoundAtTheHello) {
    Pair pair{key_of(1), key_of(2)};
    pair.run();
    ASSERT_NE(pair.to.failure(), nullptr);
    EXPECT_NE(std::string(pair.to.failure()).find("does not have the key"), std::string::npos);
    EXPECT_TRUE(pair.to.output().empty()) << "says something to a stranger";
    EXPECT_FALSE(pair.to.greeted());
    EXPECT_FALSE(pair.from.done());
}

TEST(TcpHandshake, EveryChangedBitIsFound) {
    const std::size_t sizes[] = {Handshake::hello_bytes, Handshake::challenge_bytes, Handshake::proof_bytes,
                                 Handshake::proof_bytes};
    for (int message = 0; message < 4; ++message)
        for (std::size_t bit = 0; bit < 8 * sizes[message]; ++bit) {
            Pair pair;
            pair.run([&](Bytes& bytes, int number) {
                if (number != message) return;
                ASSERT_EQ(bytes.size(), sizes[message]);
                bytes[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
            });
            EXPECT_FALSE(pair.from.done() && pair.to.done()) << message << " bit " << bit;
            const Handshake& hears = message % 2 == 0 ? pair.to : pair.from;
            EXPECT_NE(hears.failure(), nullptr) << message << " bit " << bit;
        }
}

TEST(TcpHandshake, AReplayCannotAnswer) {
    Pair recorded;
    Bytes hello;
    Bytes answer;
    recorded.run([&](Bytes& bytes, int number) {
        if (number == 0) hello = bytes;
        if (number == 2) answer = bytes;
    });
    ASSERT_TRUE(recorded.to.done());
    Handshake again = Handshake::accepting(recorded.other, 1, 4, nonce_of(9));
    again.take(hello);
    EXPECT_TRUE(again.greeted());
    said(again);
    again.take(answer);
    EXPECT_NE(again.failure(), nullptr);
    EXPECT_FALSE(again.done());
}

TEST(TcpHandshake, AMirrorProvesNothing) {
    // Whoever sends back what it hears: a socket that is connected to itself, for one.
    Pair pair;
    pair.from.take(said(pair.from));
    EXPECT_NE(pair.from.failure(), nullptr);
}

TEST(TcpHandshake, AMemberMustBeTheRightOne) {
    struct Case {
        Claim claim;
        std::uint32_t self;
        const char* why;
    };
    const Case cases[] = {
        {{1, 3, 1, 0}, 2, "asks for a different rank"},
        {{1, 2, 2, 0}, 2, "must not connect to this rank"},
        {{1, 4, 2, 0}, 2, "must not connect to this rank"},  // of four
    };
    const Key key = key_of(1);
    for (const Case& one : cases) {
        Handshake from = Handshake::connecting(key, one.claim, nonce_of(1));
        Handshake to = Handshake::accepting(key, one.self, 4, nonce_of(2));
        to.take(said(from));
        ASSERT_NE(to.failure(), nullptr) << one.why;
        EXPECT_NE(std::string(to.failure()).find(one.why), std::string::npos) << to.failure();
        EXPECT_TRUE(to.output().empty());
    }
}

TEST(TcpHandshake, WhatIsNoHelloIsFoundAtOnce) {
    const Key key = key_of(1);
    Handshake to = Handshake::accepting(key, 0, 2, nonce_of(1));
    const std::string text = "GET / HTTP/1.1\r\n";
    to.take({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
    EXPECT_NE(to.failure(), nullptr);
    EXPECT_EQ(to.wanted(), 0u);
    EXPECT_TRUE(to.output().empty());
}

TEST(TcpHandshake, AnotherVersionIsNamed) {
    Pair pair;
    Bytes hello = said(pair.from);
    hello[8] ^= 3;  // after the magic
    pair.to.take(hello);
    ASSERT_NE(pair.to.failure(), nullptr);
    EXPECT_NE(std::string(pair.to.failure()).find("version"), std::string::npos);
}

}  // namespace
}  // namespace lapwing::tcp
