// Messages through shared memory: order, early ones, long ones both ways, sleepers, and what goes wrong.
#include "links/shm/node.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "links/message.hpp"
#include "links/tcp/sockets.hpp"
#include "support/errors.hpp"
#include "support/unit.hpp"

namespace lapwing::shm {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The stations of one host's ranks, here in one process.
struct Host {
    explicit Host(int ranks, TransferMethod method = TransferMethod::automatic) {
        for (int rank = 0; rank < ranks; ++rank) {
            nodes.push_back(std::make_unique<ShmNode>(ranks, method));
            addresses.push_back(nodes.back()->address());
        }
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_EQ(nodes[static_cast<std::size_t>(rank)]->join(addresses, rank), "");
        std::vector<int> all;
        for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
        for (auto& node : nodes) {
            node->admit_no_more();
            links.push_back(node->link(1, all));
        }
    }
    // Each rank's work in a thread of its own.
    void each(const std::function<void(int)>& work) {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) threads.emplace_back(work, rank);
        for (std::thread& thread : threads) thread.join();
    }

    std::vector<ShmAddress> addresses;
    std::vector<std::unique_ptr<ShmNode>> nodes;
    std::vector<std::unique_ptr<Link>> links;
};

// Both sides by one thread.
void finish(Host& host, int rank, Link::Transfer& transfer, std::vector<Link::Transfer>& others) {
    for (int tries = 0; tries < 100000; ++tries) {
        if (host.links[static_cast<std::size_t>(rank)]->test(transfer)) return;
        for (Link::Transfer& other : others) host.links[static_cast<std::size_t>(1 - rank)]->test(other);
    }
    FAIL() << "it does not complete";
}

class ShmTest : public testing::TestWithParam<TransferMethod> {};

// Messages on one channel keep their order: each is as long as its receive.
TEST_P(ShmTest, TrafficOfManyRanksAndGroupsAtOnce) {
    constexpr int ranks = 4;
    constexpr int rounds = LAPWING_TEST_FEWER ? 8 : 20;
    Host host(ranks, GetParam());
    std::vector<int> all = {0, 1, 2, 3};
    host.each([&](int rank) {
        ShmNode& node = *host.nodes[static_cast<std::size_t>(rank)];
        const std::unique_ptr<Link> groups[] = {node.link(7, all), node.link(8, all)};
        for (int round = 0; round < rounds; ++round) {
            // All ranks draw the same lengths.
            std::mt19937 random(static_cast<unsigned>(round));
            constexpr std::size_t lengths[] = {0, 1, 40, 41, 5000, 16384, 16385, 40000, 500000, 3000000};
            struct Exchange {
                Bytes out, in;
                Link::Transfer send, receive;
                int peer = 0, group = 0;
                std::uint32_t channel = 0;
            };
            std::vector<Exchange> exchanges;
            for (std::uint32_t i = 0; i < 12; ++i) {
                const std::size_t length = lengths[random() % std::size(lengths)];
                const int group = static_cast<int>(random() % 2);
                const int distance = static_cast<int>(random() % ranks);
                Exchange& exchange = exchanges.emplace_back();
                exchange.peer = distance;
                exchange.group = group;
                exchange.channel = i % 5;
                exchange.out = message(length, rank + round);
                exchange.in.resize(length);
            }
            std::mt19937 own(static_cast<unsigned>(round * ranks + rank));
            for (Exchange& exchange : exchanges) {
                Link& link = *groups[exchange.group];
                const int to = (rank + exchange.peer) % ranks;
                const int from = (rank + ranks - exchange.peer) % ranks;
                const auto send = [&] {
                    link.send(to, exchange.out.data(), exchange.out.size(), exchange.channel, exchange.send);
                };
                const auto recv = [&] {
                    link.recv(from, exchange.in.data(), exchange.in.size(), exchange.channel,
                              exchange.receive);
                };
                if (own() % 2 == 0) {
                    send();
                    recv();
                } else {
                    recv();
                    send();
                }
            }
            for (Exchange& exchange : exchanges) {
                Link& link = *groups[exchange.group];
                for (Link::Transfer* transfer : {&exchange.receive, &exchange.send}) {
                    for (int looks = 0; !link.test(*transfer); ++looks)
                        if (looks % 4 == 3) node.sleep(1ms);
                }
                const int from = (rank + ranks - exchange.peer) % ranks;
                ASSERT_EQ(exchange.in, message(exchange.in.size(), from + round));
            }
        }
    });
}

std::string name_of(const testing::TestParamInfo<TransferMethod>& method) {
    constexpr const char* names[] = {"automatic", "processor", "kernel"};
    return names[static_cast<std::size_t>(method.param)];
}

INSTANTIATE_TEST_SUITE_P(All, ShmTest,
                         testing::Values(TransferMethod::automatic, TransferMethod::processor,
                                         TransferMethod::kernel),
                         name_of);

TEST(Shm, SleepersAreWoken) {
    Host host(2);
    host.each([&](int rank) {
        Link& link = *host.links[static_cast<std::size_t>(rank)];
        for (int i = 0; i < 2000; ++i) {
            Link::Transfer sent;
            Link::Transfer received;
            if (rank == 0) link.send(1, nullptr, 0, 0, sent);
            link.flush();
            link.recv(1 - rank, nullptr, 0, 0, received);
            // A ring that is lost would be a minute.
            while (!link.test(received)) host.nodes[static_cast<std::size_t>(rank)]->sleep(60s);
            if (rank == 1) link.send(0, nullptr, 0, 0, sent);
            link.flush();
        }
    });
}

TEST(Shm, AMessageThatIsTooLongIsToldAndTheOthersArrive) {
    Host host(2);
    for (const std::size_t bytes : {30U, 3000U, 300000U}) {
        const Bytes sent = message(bytes, 1);
        Bytes received(bytes);
        std::vector<Link::Transfer> sends(2);
        Link::Transfer receives[2];
        for (Link::Transfer& transfer : sends) host.links[0]->send(1, sent.data(), bytes, 0, transfer);
        host.links[1]->recv(0, received.data(), bytes - 1, 0, receives[0]);
        host.links[1]->recv(0, received.data(), bytes, 0, receives[1]);
        EXPECT_THAT(error_of([&] { finish(host, 1, receives[0], sends); }, ErrorCode::truncated),
                    HasSubstr("rank 0 has sent more than the"));
        finish(host, 1, receives[1], sends);
        EXPECT_EQ(received, sent);
        std::vector<Link::Transfer> none;
        for (Link::Transfer& transfer : sends) finish(host, 0, transfer, none);
    }
}

TEST(Shm, WhoIsGivenUpWaitsForNobody) {
    Host host(2);
    Link::Transfer receive;
    std::byte byte{};
    host.links[0]->recv(1, &byte, 1, 0, receive);
    std::thread other([&] { host.nodes[0]->give_up("rank 1 has left"); });
    const auto wait = [&] {
        while (!host.links[0]->test(receive)) host.nodes[0]->sleep(60s);
    };
    EXPECT_THAT([&] { wait(); }, testing::ThrowsMessage<Error>("rank 1 has left"));
    other.join();
}

TEST(Shm, RanksOfOtherHostsAreNotNear) {
    std::vector<std::unique_ptr<ShmNode>> nodes;
    std::vector<ShmAddress> addresses;
    for (int rank = 0; rank < 3; ++rank) {
        nodes.push_back(std::make_unique<ShmNode>(3));
        addresses.push_back(nodes.back()->address());
    }
    addresses[1].host += 1;
    EXPECT_EQ(nodes[0]->join(addresses, 0), "");
    EXPECT_EQ(nodes[2]->join(addresses, 2), "");
    EXPECT_TRUE(nodes[2]->intra_node(0));
    EXPECT_FALSE(nodes[2]->intra_node(1));
    EXPECT_EQ(nodes[2]->ranks(), 2);
}

// As in containers: the process numbers mean others there.
TEST(Shm, AnotherProcessesMemoryIsNotTakenForThePeers) {
    ShmNode maker(2);
    ShmNode other(2);
    std::vector<ShmAddress> addresses = {maker.address(), other.address()};
    addresses[0].descriptor = other.address().descriptor;
    EXPECT_THAT(other.join(addresses, 1), HasSubstr("cannot see each other"));
    addresses[0] = maker.address();
    addresses[0].process = 1 << 30;
    EXPECT_THAT(other.join(addresses, 1), HasSubstr("No such file"));
    addresses[0] = maker.address();
    addresses[0].process_space += 1;
    EXPECT_THAT(other.join(addresses, 1), HasSubstr("rank 0 of this host is in another container"));
}

TEST(Shm, AFileLimitIsToldAndEndsNobody) {
    EXPECT_EXIT(
        {
            rlimit limit{};
            limit.rlim_cur = limit.rlim_max = 4096;
            ::setrlimit(RLIMIT_FSIZE, &limit);
            ShmNode node(2);
            const std::vector<ShmAddress> addresses(2, node.address());
            ::_exit(node.join(addresses, 0).find("ulimit -f") == std::string::npos ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}

// The sender of a long message is killed before it is copied.
TEST(Shm, ARankThatIsKilledIsNamed) {
    int here[2];
    int there[2];
    ASSERT_EQ(::pipe(here), 0);
    ASSERT_EQ(::pipe(there), 0);
    const auto own = std::make_unique<ShmNode>(2);
    const pid_t child = ::fork();
    if (child == 0) {
        ShmNode node(2);
        ShmAddress addresses[2];
        addresses[1] = node.address();
        bool good = ::write(here[1], &addresses[1], sizeof(ShmAddress)) == sizeof(ShmAddress);
        good = good && ::read(there[0], &addresses[0], sizeof(ShmAddress)) == sizeof(ShmAddress);
        good = good && node.join(addresses, 1).empty();
        if (good) {
            const auto link = node.link(1, {0, 1});
            const Bytes sent(1000000);
            Link::Transfer transfer;
            link->send(0, sent.data(), sent.size(), 0, transfer);
            good = ::write(here[1], "x", 1) == 1;
            for (;;) ::pause();
        }
        ::_exit(1);
    }
    ShmAddress addresses[2];
    addresses[0] = own->address();
    ASSERT_EQ(::read(here[0], &addresses[1], sizeof(ShmAddress)), static_cast<ssize_t>(sizeof(ShmAddress)));
    ASSERT_EQ(own->join(addresses, 0), "");
    ASSERT_EQ(::write(there[1], &addresses[0], sizeof(ShmAddress)), static_cast<ssize_t>(sizeof(ShmAddress)));
    char ready = 0;
    ASSERT_EQ(::read(here[0], &ready, 1), 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto link = own->link(1, {0, 1});
    Bytes received(1000000);
    Link::Transfer transfer;
    link->recv(1, received.data(), received.size(), 0, transfer);
    EXPECT_THAT(
        [&] {
            while (!link->test(transfer)) std::this_thread::yield();
        },
        testing::ThrowsMessage<Error>("rank 1 has ended"));
    for (const int descriptor : {here[0], here[1], there[0], there[1]}) ::close(descriptor);
}

TEST(Shm, NothingIsLeft) {
    const auto before = tcp::free_descriptors();
    {
        Host host(3);
        // The memory has no name, and no descriptor when all have joined.
        EXPECT_EQ(tcp::free_descriptors(), before);
    }
    EXPECT_EQ(tcp::free_descriptors(), before);
}

}  // namespace
}  // namespace lapwing::shm
