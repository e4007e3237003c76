#include "links/peer_watch.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace std::chrono_literals;

// What the watch reports about rank 1 within the limit.
std::string lost_within(std::chrono::milliseconds limit, PeerWatch& watch) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
        int lost = -1;
        const std::string why = watch.find_lost([](int) { return true; }, lost);
        if (!why.empty()) return why + " " + std::to_string(lost);
        std::this_thread::sleep_for(1ms);
    }
    return "";
}

TEST(PeerWatch, APeerThatHasEndedIsLostAndOneThatCannotBeAskedIsNot) {
    for (const bool same_host : {true, false}) {
        tcp::Options options;
        options.patience = options.refusal = same_host ? std::chrono::seconds(1h) : 3s;
        PeerWatch self(&options);
        auto peer = std::make_unique<PeerWatch>(&options);
        tcp::Address address = peer->address();
        if (!same_host) {
            // A made-up host, which is not known to be reached, at an address that is not this host's own, as
            // far as it knows: all of 127.0.0.0/8 is.
            address.host += 1;
            std::fill(std::begin(address.ips), std::end(address.ips), tcp::IpAddress{});
            address.ips[0] = {{127, 0, 0, 77}, 4, 0, 0, 0};
        }
        self.join(2, {self.address(), address});
        self.started(1);
        EXPECT_EQ(lost_within(1s, self), "") << "it is there";
        peer.reset();
        EXPECT_EQ(lost_within(1min, self), "its process has ended 1");
        // Nobody listens there any more: known of a host that was reached.
        EXPECT_EQ(lost_within(1min, self), "its process has ended 1");
        // A host that was never reached may have a firewall: it gets the patience.
        PeerWatch stranger(&options);
        stranger.join(2, {stranger.address(), address});
        stranger.started(1);
        if (!same_host) {
            EXPECT_EQ(lost_within(1s, stranger), "");
        }
        EXPECT_EQ(lost_within(1min, stranger), "its process has ended 1");
    }
}

TEST(PeerWatch, OnlyPeersThatAreSlowAreAsked) {
    const tcp::Options options;
    PeerWatch self(&options);
    auto peer = std::make_unique<PeerWatch>(&options);
    self.join(2, {self.address(), peer->address()});
    peer.reset();
    EXPECT_TRUE(self.idle());
    EXPECT_EQ(lost_within(500ms, self), "");
    self.started(1);
    EXPECT_FALSE(self.idle());
    self.ended(1);
    EXPECT_EQ(lost_within(500ms, self), "");
}

}  // namespace
}  // namespace lapwing
