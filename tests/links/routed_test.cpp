// Which of two links takes a message, and what a caller of both sees.
#include "links/routed.hpp"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

// Notes what it is asked for, and completes what it is told to.
class Noting : public Link {
  public:
    void send(int peer, const std::byte*, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        note(peer, bytes, channel, transfer);
    }
    void recv(int peer, std::byte*, std::uint64_t bytes, std::uint32_t channel, Transfer& transfer) override {
        note(peer, bytes, channel, transfer);
    }
    bool test(Transfer& transfer) override {
        ++tested;
        if (transfer.handle > complete) return false;
        transfer = {};
        return true;
    }
    void progress() override { ++moved; }

    int tested = 0;
    int moved = 0;
    std::uintptr_t handles = 0;
    std::uintptr_t complete = 0;  // the transfers up to this one
    int last_peer = -1;
    std::uint64_t last_bytes = 0;
    std::uint32_t last_channel = 0;

  private:
    void note(int peer, std::uint64_t bytes, std::uint32_t channel, Transfer& transfer) {
        last_peer = peer;
        last_bytes = bytes;
        last_channel = channel;
        transfer = {++handles, true};
    }
};

struct RoutedLinkTest : testing::Test {
    Noting intra_node;
    Noting inter_node;
    RoutedLink link{intra_node, inter_node, {false, true, false}};
};

TEST_F(RoutedLinkTest, APeerHasOneLink) {
    Link::Transfer transfers[4];
    link.send(1, nullptr, 5, 7, transfers[0]);
    EXPECT_EQ(intra_node.last_peer, 1);
    EXPECT_EQ(intra_node.last_bytes, 5U);
    EXPECT_EQ(intra_node.last_channel, 7U);
    EXPECT_EQ(inter_node.handles, 0U);
    link.recv(2, nullptr, 6, first_persistent_channel, transfers[1]);
    EXPECT_EQ(inter_node.last_peer, 2);
    EXPECT_EQ(inter_node.last_bytes, 6U);
    EXPECT_EQ(inter_node.last_channel, first_persistent_channel);
    link.recv(1, nullptr, 0, 0, transfers[2]);
    link.send(2, nullptr, 0, 0, transfers[3]);
    EXPECT_EQ(intra_node.handles, 2U);
    EXPECT_EQ(inter_node.handles, 2U);
}

TEST_F(RoutedLinkTest, ATransferBelongsToTheLinkThatHasIt) {
    Link::Transfer transfer;
    // Also one that has been the other link's before.
    for (std::uintptr_t i = 1; i <= 2; ++i) {
        link.send(1, nullptr, 1, 0, transfer);
        inter_node.complete = 100;
        EXPECT_FALSE(link.test(transfer));
        intra_node.complete = i;
        EXPECT_TRUE(link.test(transfer));
        inter_node.complete = 0;
        link.recv(2, nullptr, 1, 0, transfer);
        intra_node.complete = 100;
        EXPECT_FALSE(link.test(transfer));
        inter_node.complete = i;
        EXPECT_TRUE(link.test(transfer));
        intra_node.complete = i;
    }
    const int tested = intra_node.tested + inter_node.tested;
    EXPECT_TRUE(link.test(transfer));  // empty: nobody's
    EXPECT_EQ(intra_node.tested + inter_node.tested, tested);
}

// The peer that this side waits for at one link may wait for what it has to do at the other.
TEST_F(RoutedLinkTest, WhoWaitsAtOneMovesTheOther) {
    Link::Transfer transfer;
    link.recv(1, nullptr, 1, 0, transfer);
    EXPECT_FALSE(link.test(transfer));
    EXPECT_EQ(inter_node.moved, 1);
    EXPECT_EQ(intra_node.moved, 0);
    intra_node.complete = 1;
    EXPECT_TRUE(link.test(transfer));
    EXPECT_EQ(inter_node.moved, 1);
    link.recv(2, nullptr, 1, 0, transfer);
    EXPECT_FALSE(link.test(transfer));
    EXPECT_EQ(intra_node.moved, 1);
    link.progress();
    EXPECT_EQ(intra_node.moved, 2);
    EXPECT_EQ(inter_node.moved, 2);
}

}  // namespace
}  // namespace lapwing
