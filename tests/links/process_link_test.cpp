#include "links/process/process_link.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"

namespace lapwing {
namespace {

struct Message {
    std::byte bytes[8]{};
    explicit Message(const char* text = "") {
        std::strncpy(reinterpret_cast<char*>(bytes), text, sizeof bytes - 1);
    }
    std::string text() const { return reinterpret_cast<const char*>(bytes); }
};

TEST(ProcessLink, KeepsTheOrderOfAPairAndChannel) {
    const auto links = process_links(2, true);
    Message sent[3] = {Message("one"), Message("two"), Message("three")};
    Message received[3];
    Link::Transfer transfers[6];
    links[0]->send(1, sent[0].bytes, 8, 7, transfers[0]);
    links[0]->send(1, sent[2].bytes, 8, 9, transfers[1]);  // another channel
    links[0]->send(1, sent[1].bytes, 8, 7, transfers[2]);
    for (int i = 0; i < 2; ++i) links[1]->recv(0, received[i].bytes, 8, 7, transfers[3 + i]);
    links[1]->recv(0, received[2].bytes, 8, 9, transfers[5]);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(links[1]->test(transfers[3 + i]));
        EXPECT_EQ(received[i].text(), sent[i].text());
    }
}

TEST(ProcessLink, ASendThatIsNotBufferedWaitsForItsReceive) {
    for (const bool buffered : {true, false}) {
        const auto links = process_links(2, buffered);
        Message sent("data");
        Message received;
        Link::Transfer send;
        Link::Transfer recv;
        links[0]->send(1, sent.bytes, 8, 0, send);
        EXPECT_EQ(links[0]->test(send), buffered);
        links[1]->recv(0, received.bytes, 8, 0, recv);
        EXPECT_TRUE(links[0]->test(send));
        EXPECT_TRUE(links[1]->test(recv));
        EXPECT_EQ(received.text(), "data");
    }
}

TEST(ProcessLink, AMessageThatIsTooLongIsAnError) {
    const auto links = process_links(2, true);
    Message sent("data");
    Message received;
    Link::Transfer send;
    Link::Transfer recv;
    links[0]->send(1, sent.bytes, 8, 0, send);
    links[1]->recv(0, received.bytes, 4, 0, recv);
    EXPECT_THROW(links[1]->test(recv), Error);
}

}  // namespace
}  // namespace lapwing
