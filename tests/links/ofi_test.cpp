// The link over libfabric: its tags and addresses; messages by real providers, and by a double with the ways
// and the faults of fabrics that are not here.
#ifdef LAPWING_TEST_OFI_DOUBLES

#include <gmock/gmock.h>
#include <poll.h>

#include <array>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "links/ofi/business_card.hpp"
#include "links/ofi/fabric.hpp"
#include "links/ofi/tags.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

// libfabric reads it once, when it is used first.
const bool doubles_are_known = ::setenv("FI_PROVIDER_PATH", LAPWING_TEST_OFI_DOUBLES, 1) == 0;

std::string error_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

using Demands = std::vector<std::pair<const char*, const char*>>;

// Variables, while it lives.
class Environment {
  public:
    explicit Environment(Demands variables) : variables_(std::move(variables)) {
        for (const auto& [name, value] : variables_) ::setenv(name, value, 1);
    }
    ~Environment() {
        for (const auto& [name, value] : variables_) ::unsetenv(name);
    }

  private:
    Demands variables_;
};

// The ranks of a job in this process.
class Job {
  public:
    Job(const char* provider, int ranks, bool puts = false,
        std::chrono::seconds patience = std::chrono::seconds(10)) {
        std::vector<Fabric::Peer> peers;
        for (int rank = 0; rank < ranks; ++rank) {
            fabrics_.push_back(ofi_fabric(
                provider, {.ranks = ranks,
                           .puts = puts,
                           .internet = {.interfaces = "", .family = "auto", .patience = patience}}));
            peers.push_back({fabrics_.back()->address(), "node" + std::to_string(rank)});
        }
        for (int rank = 0; rank < ranks; ++rank) at(rank).join(peers, rank, {0xfedcba9876543210});
    }
    Fabric& at(int rank) { return *fabrics_[static_cast<std::size_t>(rank)]; }
    void end(int rank) { fabrics_[static_cast<std::size_t>(rank)].reset(); }

  private:
    std::vector<std::unique_ptr<Fabric>> fabrics_;
};

std::byte byte_of(int from, int to, int number, std::size_t i) {
    return static_cast<std::byte>(from * 91 + to * 57 + number * 13 + static_cast<int>(i % 251) +
                                  static_cast<int>(i / 251));
}

// Sleeps as the progress thread does, until all transfers are complete.
void sleep_until_complete(Fabric& fabric, Link& link, std::vector<Link::Transfer>& transfers) {
    for (Link::Transfer& transfer : transfers) {
        while (!link.test(transfer)) {
            if (fabric.progress() || !fabric.prepare_to_sleep()) continue;
            const auto limit = fabric.max_sleep();
            pollfd ready{fabric.descriptor(), POLLIN, 0};
            const timespec time{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
            ::ppoll(&ready, 1, limit.count() < 0 ? nullptr : &time, nullptr);
        }
    }
}

// All ranks, each by a thread, send each other messages of many lengths in two groups at once, on many
// channels; the receives of odd rounds come after what is received.
void exchange(const char* provider, int ranks, const std::vector<std::size_t>& sizes, int rounds,
              bool puts = false) {
    Job job(provider, ranks, puts);
    std::vector<std::thread> threads;
    std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            std::string& fault = wrong[static_cast<std::size_t>(rank)];
            fault = error_of([&] {
                std::vector<int> all;
                std::vector<int> reversed;
                for (int i = 0; i < ranks; ++i) all.push_back(i);
                for (int i = ranks; i-- > 0;) reversed.push_back(i);
                const std::array<std::unique_ptr<Link>, 2> links = {
                    job.at(rank).link(1, all), job.at(rank).link((std::uint64_t{1} << 32) + 1, reversed)};
                for (int round = 0; round < rounds; ++round) {
                    Link& link = *links[static_cast<std::size_t>(round % 2)];
                    const auto peer_in_group = [&](int peer) {
                        return round % 2 == 0 ? peer : ranks - 1 - peer;
                    };
                    std::vector<Bytes> sent;
                    std::vector<Bytes> received;
                    std::vector<Link::Transfer> transfers(2 * sizes.size() * static_cast<std::size_t>(ranks));
                    std::size_t next = 0;
                    const auto channel = [&](std::size_t i) {
                        // Pairs of messages share one.
                        return static_cast<std::uint32_t>(i / 2) +
                               (round % 3 == 2 ? first_persistent_channel : 0);
                    };
                    const auto receive = [&] {
                        for (std::size_t i = 0; i < sizes.size(); ++i)
                            for (int peer = 0; peer < ranks; ++peer)
                                if (peer != rank)
                                    link.recv(peer_in_group(peer), received.emplace_back(sizes[i]).data(),
                                              sizes[i], channel(i), transfers[next++]);
                    };
                    received.reserve(sizes.size() * static_cast<std::size_t>(ranks));
                    sent.reserve(sizes.size() * static_cast<std::size_t>(ranks));
                    if (round % 2 == 0) receive();
                    for (std::size_t i = 0; i < sizes.size(); ++i) {
                        for (int peer = 0; peer < ranks; ++peer) {
                            if (peer == rank) continue;
                            Bytes& bytes = sent.emplace_back(sizes[i]);
                            for (std::size_t k = 0; k < bytes.size(); ++k)
                                bytes[k] = byte_of(rank, peer, round + static_cast<int>(i), k);
                            link.send(peer_in_group(peer), bytes.data(), sizes[i], channel(i),
                                      transfers[next++]);
                        }
                    }
                    if (round % 2 == 1) receive();
                    sleep_until_complete(job.at(rank), link, transfers);
                    auto now = received.begin();
                    for (std::size_t i = 0; i < sizes.size(); ++i) {
                        for (int peer = 0; peer < ranks; ++peer) {
                            if (peer == rank) continue;
                            for (std::size_t k = 0; k < now->size(); ++k) {
                                if ((*now)[k] == byte_of(peer, rank, round + static_cast<int>(i), k))
                                    continue;
                                throw Error(ErrorCode::internal, "wrong byte " + std::to_string(k) + " of " +
                                                                     std::to_string(sizes[i]));
                            }
                            ++now;
                        }
                    }
                }
                // What has been sent leaves before anybody ends.
                while (!job.at(rank).flush()) std::this_thread::yield();
            });
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& fault : wrong) EXPECT_EQ(fault, "no error");
}

const std::vector<std::size_t> sizes = {0, 1, 8, 32, 33, 2048, 2049, 5000, 100000, 3, 70000, 0};

class OfiProviders : public testing::TestWithParam<const char*> {};

TEST_P(OfiProviders, MessagesOfAllLengths) {
    for (const bool puts : {false, true}) exchange(GetParam(), 3, sizes, LAPWING_TEST_FEWER ? 2 : 4, puts);
    exchange(GetParam(), 2, {std::size_t{1} << 20, (std::size_t{LAPWING_TEST_FEWER ? 1 : 8} << 20) + 1}, 2);
}
// Those of Debian's libfabric that need no hardware.
INSTANTIATE_TEST_SUITE_P(Real, OfiProviders, testing::Values("tcp", "sockets", "shm"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Ofi, FabricsWithTheirWaysAndFaults) {
    const Demands all[] = {
        {},
        {{"DOUBLE_OFI_LOCAL", "1"}},
        {{"DOUBLE_OFI_MOST", "1000"}},
        {{"DOUBLE_OFI_MOST", "3000"}, {"DOUBLE_OFI_LOCAL", "1"}},
        // As few as there may be: all of a rank's long messages of a round wait for their receivers.
        {{"DOUBLE_OFI_ROOM", "7"}},
        {{"DOUBLE_OFI_ROOM", "2"}, {"DOUBLE_OFI_MOST", "1000"}},
        {{"DOUBLE_OFI_DESCRIPTOR", "0"}},
        {{"DOUBLE_OFI_LOST_EVENTS", "2"}},
        {{"DOUBLE_OFI_LATE", "20"}},
        {{"DOUBLE_OFI_LOCAL", "1"},
         {"DOUBLE_OFI_MOST", "2100"},
         {"DOUBLE_OFI_ROOM", "3"},
         {"DOUBLE_OFI_LOST_EVENTS", "1"},
         {"DOUBLE_OFI_LATE", "3"}},
    };
    for (std::size_t i = 0; i < std::size(all); i += LAPWING_TEST_FEWER ? 3 : 1) {
        const Demands& demands = all[i];
        SCOPED_TRACE(testing::PrintToString(demands));
        const Environment environment(demands);
        for (const bool puts : {false, true}) exchange("double", 3, sizes, LAPWING_TEST_FEWER ? 2 : 6, puts);
    }
}

// No word of them in order, and far more than the receiver has room for.
TEST(Ofi, WrittenMessages) {
    exchange("double", 2, std::vector<std::size_t>(200, 48), 8, true);
}

TEST(Ofi, AProviderThatRefusesIsTheReason) {
    {
        const Environment demands(Demands{{"DOUBLE_OFI_REFUSE", "domain"}});
        EXPECT_THAT(error_of([] { ofi_fabric("double", {}); }),
                    HasSubstr("double on card0: fi_domain: Permission denied"));
    }
    // As cards that have queues for one user, the MPI.
    const Environment demands(Demands{{"DOUBLE_OFI_ENDPOINTS", "1"}});
    const auto first = ofi_fabric("double", {});
    EXPECT_THAT(error_of([] { ofi_fabric("double", {}); }),
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
    Job job("double", 3);
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
    Job job("double", 2);
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
    const auto in_flight = [&](const char* provider) {
        Job job(provider, 2);
        EXPECT_LT(job.at(0).max_sleep().count(), 0) << "nothing is on its way";
        const auto link = job.at(0).link(1, {0, 1});
        Link::Transfer receive;
        link->recv(1, received.data(), 8, 0, receive);
        return job.at(0).max_sleep();
    };
    const auto tcp = in_flight("tcp");
    const auto doubtful = in_flight("double");
    const Environment demands(Demands{{"DOUBLE_OFI_DESCRIPTOR", "0"}});
    const auto blind = in_flight("double");
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
