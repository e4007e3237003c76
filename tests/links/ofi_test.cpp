// The link over libfabric: its tags and addresses, and what its providers say. Messages are in
// fabric_test.cpp.
#ifdef LAPWING_TEST_OFI_DOUBLES

#include "base/error.hpp"
#include "links/fabric_job.hpp"
#include "links/message.hpp"
#include "links/ofi/business_card.hpp"
#include "links/ofi/fabric.hpp"
#include "links/ofi/tags.hpp"
#include "support/errors.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace testing_links;
using testing::HasSubstr;

// libfabric reads it once, when it is used first.
const bool doubles_are_known = ::setenv("FI_PROVIDER_PATH", LAPWING_TEST_OFI_DOUBLES, 1) == 0;

// A case on the double, whose behaviour these variables set.
FabricCase double_with(Variables demands) {
    return {"double", "ofi", std::move(demands), false, "double"};
}

TEST(Ofi, AProviderThatRefusesIsTheReason) {
    // As cards that have queues for one user, the MPI.
    const FabricCase one_user = double_with({{"DOUBLE_OFI_ENDPOINTS", "1"}});
    const auto first = open_fabric(one_user, 1);
    EXPECT_THAT(error_of([&] { open_fabric(one_user, 1); }),
                HasSubstr("double on card0: fi_endpoint: No space left on device"));
    EXPECT_THAT(first->description(), HasSubstr("double on card0"));
    EXPECT_FALSE(first->rdma());
}

TEST(Ofi, AProviderThatIsNotHereIsNamedWithThoseThatAre) {
    EXPECT_THAT(error_of([] { ofi_fabric("cxi", {}); }),
                testing::AllOf(HasSubstr("no provider 'cxi'"), HasSubstr("tcp;ofi_rxm")));
    EXPECT_THAT(error_of([] { ofi_fabric("net", {}); }), HasSubstr("cannot wake a thread"));
    EXPECT_THAT(error_of([] { ofi_fabric("tcp", {.rdma_only = true}); }), HasSubstr("no provider"));
    EXPECT_THAT(
        error_of([] { ofi_fabric("tcp", {.internet = {.interfaces = "nosuch0", .family = "auto"}}); }),
        HasSubstr("LAPWING_TCP_INTERFACE"));
    EXPECT_THAT(ofi_fabric("tcp", {.internet = {.interfaces = "127.0.0.1", .family = "auto"}})->description(),
                HasSubstr("tcp;ofi_rxm on lo"));
}

TEST(Ofi, WhatTheProviderSaysOfAPeerIsItsReason) {
    const Bytes sent(8);
    Bytes received(8);
    FabricJob job(double_with({}), 3);
    const auto of_all = job.at(0).link(1, {0, 1, 2});
    const auto of_two = job.at(0).link(2, {0, 2});
    job.end(1);
    Link::Transfer transfers[3];
    of_all->recv(2, received.data(), 8, 0, transfers[0]);
    of_two->recv(1, received.data(), 8, 0, transfers[1]);
    of_all->send(1, sent.data(), 8, 0, transfers[2]);
    const std::string why = error_of([&] {
        while (!of_all->test(transfers[0])) continue;
    });
    EXPECT_THAT(why, HasSubstr("rank 1 (node1) is unreachable: libfabric (double): a send to it failed: "
                               "Connection reset by peer (as the double was asked)"));
    EXPECT_EQ(error_of([&] { of_all->send(2, sent.data(), 8, 0, transfers[2]); }), why);
    // A group that is made later has lost it, too; one without it has not.
    EXPECT_EQ(error_of([&] {
                  job.at(0).link(3, {0, 1})->recv(1, received.data(), 8, 0, transfers[2]);
              }),
              why);
    EXPECT_FALSE(of_two->test(transfers[1]));
}

TEST(Ofi, AMessageThatIsTooShortIsAnError) {
    FabricJob job(double_with({}), 2);
    const auto from = job.at(0).link(1, {0, 1});
    const auto to = job.at(1).link(1, {0, 1});
    const Bytes sent(4);
    Bytes received(8);
    Link::Transfer send;
    Link::Transfer receive;
    from->send(1, sent.data(), 4, 0, send);
    to->recv(0, received.data(), 8, 0, receive);
    EXPECT_THAT(error_of([&] {
                    while (!to->test(receive)) continue;
                }),
                HasSubstr("rank 0 (node0) has sent 4 bytes where 8 are expected"));
    while (!from->test(send)) continue;
}

TEST(Ofi, SleepsAsLongAsTheProviderCanBeTrusted) {
    Bytes received(8);
    const auto in_flight = [&](const FabricCase& which) {
        FabricJob job(which, 2);
        EXPECT_LT(job.at(0).max_sleep().count(), 0) << "nothing is on its way";
        const auto link = job.at(0).link(1, {0, 1});
        Link::Transfer receive;
        link->recv(1, received.data(), 8, 0, receive);
        return job.at(0).max_sleep();
    };
    const auto tcp = in_flight({"tcp", "ofi", {}, false, "tcp"});
    const auto doubtful = in_flight(double_with({}));
    const auto blind = in_flight(double_with({{"DOUBLE_OFI_DESCRIPTOR", "0"}}));
    EXPECT_GT(tcp, doubtful);
    EXPECT_GT(doubtful, blind);
    EXPECT_GT(blind.count(), 0);
}

TEST(Ofi, RanksWithDifferentProvidersSaySo) {
    const auto one = ofi_fabric("double", {.ranks = 2});
    const auto other = ofi_fabric("tcp", {.ranks = 2});
    EXPECT_EQ(error_of([&] {
                  one->join({{one->address(), "a"}, {other->address(), "b"}}, 0, {1});
              }),
              "rank 1 (b) uses libfabric's provider tcp;ofi_rxm, but rank 0 (a) uses double");
    for (const std::size_t bytes : {std::size_t{10}, other->address().size() / 2}) {
        Bytes cut = other->address();
        cut.resize(bytes);
        EXPECT_EQ(
            error_of([&] {
                one->join({{one->address(), "a"}, {cut, "b"}}, 0, {1});
            }),
            "rank 1 has sent an address of another form: do all ranks run the same version of Lapwing?");
    }
}

ofi::BusinessCard card_at(std::uint64_t host, std::array<unsigned char, 4> address) {
    ofi::BusinessCard card;
    card.provider = "tcp;ofi_rxm";
    card.device = "docker0";
    card.format = 2;  // FI_SOCKADDR_IN
    card.tag_bits = 64;
    card.address.resize(16);
    for (std::size_t i = 0; i < 4; ++i) card.address[4 + i] = static_cast<std::byte>(address[i]);
    card.host = host;
    return card;
}

TEST(Ofi, AddressesThatLeadNowhereAreFound) {
    const std::vector<std::string> names = {"rank 0", "rank 1"};
    const auto apart = [&](const ofi::BusinessCard& one, const ofi::BusinessCard& other) {
        return ofi::why_apart({one, other}, names);
    };
    EXPECT_EQ(apart(card_at(1, {10, 0, 0, 1}), card_at(2, {10, 0, 0, 2})), "");
    EXPECT_EQ(apart(card_at(1, {127, 0, 0, 1}), card_at(1, {127, 0, 0, 1})), "");
    EXPECT_EQ(apart(card_at(1, {10, 0, 0, 1}), card_at(2, {127, 0, 0, 1})),
              "rank 1 can be reached only on its own host, at 127.0.0.1");
    EXPECT_EQ(apart(card_at(1, {172, 17, 0, 1}), card_at(2, {172, 17, 0, 1})),
              "rank 0 and rank 1 have the same address 172.17.0.1 (docker0): name the interface by "
              "LAPWING_TCP_INTERFACE");
    ofi::BusinessCard longer = card_at(2, {10, 0, 0, 2});
    longer.address.resize(28);
    EXPECT_THAT(apart(card_at(1, {10, 0, 0, 1}), longer), HasSubstr("libfabric addresses of different "
                                                                    "kinds"));
}

TEST(Ofi, TagsTellGroupsAndChannelsApart) {
    for (const std::uint32_t bits : {48U, 63U, 64U}) {
        ofi::Tags tags(bits, 1000, 0xfedcba9876543210);
        std::set<std::uint64_t> all;
        for (const std::uint64_t leader : {0, 1, 2, 1000}) {
            for (const std::uint64_t count : {1, 2, 60000}) {
                const std::uint64_t tag = tags.take(leader << 32 | count);
                for (const std::uint32_t channel :
                     {0U, 1U, 32767U, first_persistent_channel, first_persistent_channel + 1,
                      first_persistent_channel + 32767}) {
                    const std::uint64_t whole = tag | ofi::Tags::of_channel(channel);
                    EXPECT_EQ(bits == 64 ? 0 : whole >> bits, 0U);
                    EXPECT_TRUE(all.insert(whole).second);
                }
            }
        }
        // Another job's are others.
        ofi::Tags others(bits, 1000, 0x0123456789abcdef);
        EXPECT_EQ(all.count(others.take(1) | ofi::Tags::of_channel(0)), 0U);
    }
    // The one of a group that has ended may come again, that of one that lives may not.
    ofi::Tags tags(48, 1000, 1);
    const std::uint64_t first = tags.take(5);
    EXPECT_THAT(error_of([&] { tags.take(5 + 65536); }), HasSubstr("only 65536 communicators"));
    tags.release(first);
    EXPECT_EQ(tags.take(5 + 65536), first);
    EXPECT_THAT(error_of([&] { tags.take(std::uint64_t{1024} << 32); }), HasSubstr("not numbered by a rank"));
    EXPECT_THAT(error_of([] { ofi::Tags(24, 1000, 1); }), HasSubstr("too few for 1000 ranks"));
}

}  // namespace
}  // namespace lapwing

#endif
