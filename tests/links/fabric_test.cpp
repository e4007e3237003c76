// Messages over each fabric: order, early ones, long ones, sleep, strangers, and peers that end.
#include "links/fabric.hpp"

#include <poll.h>

#include "links/fabric_job.hpp"
#include "links/message.hpp"
#include "support/errors.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

using namespace testing_links;
using testing::HasSubstr;

class Fabrics : public testing::TestWithParam<FabricCase> {
  protected:
    void SetUp() override {
        if (const std::string reason = why_not(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
    }
    // Moves all ranks until the transfer of one is complete.
    static void finish(FabricJob& job, Link& link, Link::Transfer& transfer) {
        while (!link.test(transfer)) job.progress();
    }
    // What the test of a transfer that cannot complete says.
    static std::string failure_of(FabricJob& job, Link& link, Link::Transfer& transfer) {
        return error_of([&] { finish(job, link, transfer); }, {}, "complete");
    }
};

// What every provider of libfabric passes.
class FabricMessages : public Fabrics {};

// Sends and receives of three ranks in two groups, whose ranks have different orders, with progress and
// flushes in between: messages wait for their receives, or receives for their messages, and offers, grants
// and bytes cross in every way. Messages on a channel keep their order; groups and channels do not mix.
TEST_P(FabricMessages, StartsInAnyOrderAreRight) {
    constexpr std::size_t sizes[] = {0, 1, 8, 48, 49, 5000, 16384, 16385, 40000, 200000};
    constexpr std::uint32_t channels[] = {0, 7, first_persistent_channel};
    const std::vector<int> members[] = {{0, 1, 2}, {2, 0, 1}};
    struct Start {
        int from, to;
        std::size_t group;
        std::uint32_t channel;
        Bytes sent, received;
        Link::Transfer send, receive;
    };
    FabricJob job(GetParam(), 3);
    for (unsigned seed = 0; seed < (LAPWING_TEST_FEWER ? 10U : 40U); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        std::unique_ptr<Link> links[2][3];
        for (std::size_t group = 0; group < 2; ++group)
            for (int rank = 0; rank < 3; ++rank)
                links[group][rank] = job.at(rank).link(2 * seed + group + 1, members[group]);
        const auto rank_in = [&](std::size_t group, int rank) {
            const std::vector<int>& of = members[group];
            return static_cast<int>(std::find(of.begin(), of.end(), rank) - of.begin());
        };
        std::deque<Start> starts;
        std::deque<Start*> next[3];  // by rank
        for (int i = 0; i < 20; ++i) {
            const int from = static_cast<int>(random() % 3);
            const int to = (from + 1 + static_cast<int>(random() % 2)) % 3;
            const std::size_t bytes = sizes[random() % std::size(sizes)];
            const std::size_t group = random() % 2;
            starts.push_back(
                {from, to, group, channels[random() % 3], message(bytes, i), Bytes(bytes), {}, {}});
            next[from].push_back(&starts.back());
            next[to].push_back(&starts.back());
        }
        while (!next[0].empty() || !next[1].empty() || !next[2].empty()) {
            const int rank = static_cast<int>(random() % 3);
            const unsigned what = random() % 4;
            if (what == 0) links[random() % 2][rank]->flush();
            if (what == 1) job.at(rank).progress();
            if (what < 2 || next[rank].empty()) continue;
            Start& start = *next[rank].front();
            next[rank].pop_front();
            Link& link = *links[start.group][rank];
            if (start.from == rank)
                link.send(rank_in(start.group, start.to), start.sent.data(), start.sent.size(), start.channel,
                          start.send);
            else
                link.recv(rank_in(start.group, start.from), start.received.data(), start.sent.size(),
                          start.channel, start.receive);
        }
        for (Start& start : starts) {
            finish(job, *links[start.group][start.from], start.send);
            finish(job, *links[start.group][start.to], start.receive);
            EXPECT_EQ(start.received, start.sent);
        }
    }
}

// More than there is room for at the receiver, which answers nothing.
TEST_P(FabricMessages, ManyShortMessagesInOneDirection) {
    FabricJob job(GetParam(), 2);
    const auto from = job.at(0).link(5, {0, 1});
    const auto to = job.at(1).link(5, {0, 1});
    constexpr std::size_t count = 300;
    std::deque<Bytes> sent;
    std::deque<Bytes> received;
    std::vector<Link::Transfer> sends(count);
    std::vector<Link::Transfer> receives(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bytes = i % 60;  // those of more than 48 bytes are never written
        sent.push_back(message(bytes, static_cast<int>(i)));
        from->send(1, sent.back().data(), bytes, static_cast<std::uint32_t>(i % 3), sends[i]);
        if (i % 2 == 0) job.progress();
    }
    // The channels one after the other.
    for (std::uint32_t channel = 0; channel < 3; ++channel) {
        for (std::size_t i = channel; i < count; i += 3) {
            to->recv(0, received.emplace_back(sent[i].size()).data(), sent[i].size(), channel, receives[i]);
            finish(job, *to, receives[i]);
            EXPECT_EQ(received.back(), sent[i]) << i;
        }
    }
    for (Link::Transfer& send : sends) finish(job, *from, send);
}

// The same both ways at once, each rank by a thread: reports of what was taken cross the messages.
TEST_P(FabricMessages, ManyShortMessagesBothWays) {
    FabricJob job(GetParam(), 2);
    std::atomic<int> ended{0};
    const auto run = [&](int rank) {
        constexpr std::size_t count = 200;
        const auto link = job.at(rank).link(5, {0, 1});
        for (int round = 0; round < (LAPWING_TEST_FEWER ? 1 : 4); ++round) {
            const Bytes sent = message(48, round);
            std::vector<Bytes> received(count, Bytes(48));
            std::vector<Link::Transfer> transfers(2 * count);
            for (std::size_t i = 0; i < 2 * count; ++i) {
                // The receives of odd rounds follow the sends.
                const bool receives = (i < count) == (round % 2 == 0);
                const auto channel = static_cast<std::uint32_t>(i % count / 2);
                if (receives)
                    link->recv(1 - rank, received[i % count].data(), 48, channel, transfers[i]);
                else
                    link->send(1 - rank, sent.data(), 48, channel, transfers[i]);
            }
            for (Link::Transfer& transfer : transfers)
                while (!link->test(transfer))
                    if (job.at(rank).prepare_to_sleep()) std::this_thread::yield();
            EXPECT_EQ(received, std::vector<Bytes>(count, sent));
        }
        for (++ended; ended < 2; std::this_thread::yield()) job.at(rank).progress();
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
}

// A peer that takes nothing, and ends.
TEST_P(Fabrics, SendsThatWaitForRoomFailWithTheirPeer) {
    if (!GetParam().puts) return;  // others always have room
    FabricJob job(GetParam(), 2);
    const auto link = job.at(0).link(1, {0, 1});
    const Bytes sent = message(48, 1);
    std::vector<Link::Transfer> sends(100);
    for (Link::Transfer& send : sends) link->send(1, sent.data(), 48, 0, send);
    EXPECT_TRUE(sends.back().active);
    job.end(1);
    EXPECT_THAT(failure_of(job, *link, sends.back()), HasSubstr("rank 1 (node1) is unreachable"));
}

// It takes nothing else with it.
TEST_P(Fabrics, AMessageThatIsTooLongIsAnError) {
    FabricJob job(GetParam(), 2);
    std::uint64_t group = 0;
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{8}, std::size_t{16384}, std::size_t{300000}}) {
        for (const bool early : {false, true}) {
            std::unique_ptr<Link> from[2];
            std::unique_ptr<Link> to[2];
            for (int i = 0; i < 2; ++i) {
                from[i] = job.at(0).link(++group, {0, 1});
                to[i] = job.at(1).link(group, {0, 1});
            }
            const Bytes sent[2] = {message(bytes, 1), message(bytes, 2)};
            Bytes received[2] = {Bytes(bytes), Bytes(bytes)};
            Link::Transfer sends[2];
            Link::Transfer receives[2];
            for (int i = 0; i < 2; ++i) from[i]->send(1, sent[i].data(), bytes, 0, sends[i]);
            for (int i = 0; early && i < 1000; ++i) job.progress();
            to[0]->recv(0, received[0].data(), bytes - 1, 0, receives[0]);
            EXPECT_THAT(failure_of(job, *to[0], receives[0]),
                        testing::MatchesRegex("rank 0.* has sent .* expected.*"));
            to[1]->recv(0, received[1].data(), bytes, 0, receives[1]);
            finish(job, *to[1], receives[1]);
            EXPECT_EQ(received[1], sent[1]);
            // The sender is not to blame.
            for (int i = 0; i < 2; ++i) finish(job, *from[i], sends[i]);
        }
    }
}

// A rank that sleeps at the descriptor is woken by each message; and when nothing comes there is nothing to
// read.
TEST_P(FabricMessages, AMessageWakesWhoSleeps) {
    FabricJob job(GetParam(), 2);
    if (GetParam().provider == nullptr) {
        ASSERT_GE(job.at(1).descriptor(), 0);
    }
    std::unique_ptr<Link> links[2] = {job.at(0).link(1, {0, 1}), job.at(1).link(1, {0, 1})};
    constexpr int rounds = 50;
    // Each rank by a thread that only sleeps and moves; the messages go back and forth.
    const auto run = [&](int rank) {
        Fabric& fabric = job.at(rank);
        Link& link = *links[rank];
        for (int round = 0; round < rounds; ++round) {
            const std::size_t bytes = round % 5 == 4 ? 200000 : 8;
            Bytes sent = message(bytes, round);
            Bytes received(bytes);
            Link::Transfer send;
            Link::Transfer receive;
            if (rank == 0) link.send(1, sent.data(), bytes, 0, send);
            link.recv(1 - rank, received.data(), bytes, 0, receive);
            const auto sleep_until = [&](Link::Transfer& transfer) {
                while (!link.test(transfer)) {
                    if (fabric.progress() || !fabric.prepare_to_sleep()) continue;
                    pollfd ready{fabric.descriptor(), POLLIN, 0};
                    const auto limit = fabric.max_sleep();
                    ::poll(&ready, 1,
                           limit.count() < 0 ? -1 : static_cast<int>(limit.count() / 1'000'000 + 1));
                }
            };
            sleep_until(receive);
            EXPECT_EQ(received, sent);
            if (rank == 1) link.send(0, received.data(), bytes, 0, send);
            sleep_until(send);
        }
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
}

TEST_P(Fabrics, WhatAnotherThreadTakesInIsNews) {
    FabricJob job(GetParam(), 2);
    const auto from = job.at(0).link(1, {0, 1});
    const auto to = job.at(1).link(1, {0, 1});
    const Bytes sent = message(8, 1);
    Bytes received[2] = {Bytes(8), Bytes(8)};
    Link::Transfer sends[2];
    Link::Transfer receives[2];
    for (const int i : {0, 1}) to->recv(0, received[i].data(), 8, static_cast<std::uint32_t>(i), receives[i]);
    job.at(1).forget_completed();
    EXPECT_FALSE(job.at(1).has_events());
    // Who takes in the second message while it looks for the first tells of it.
    from->send(1, sent.data(), 8, 1, sends[1]);
    while (!job.at(1).has_events()) {
        EXPECT_FALSE(to->test(receives[0]));
        job.at(0).progress();
    }
    job.at(1).forget_completed();
    EXPECT_FALSE(job.at(1).has_events());
    finish(job, *to, receives[1]);
    EXPECT_FALSE(job.at(1).has_events());
    // Its own is nobody's news.
    from->send(1, sent.data(), 8, 0, sends[0]);
    while (!to->test(receives[0])) job.at(0).progress();
    EXPECT_FALSE(job.at(1).has_events());
    for (Link::Transfer& send : sends) finish(job, *from, send);
}

// Knows the address of a rank, and not the key.
TEST_P(Fabrics, AStrangerIsNotHeard) {
    // Nobody tells the stranger when it has left.
    const Bytes wrong = message(100000, 1);
    FabricJob job(GetParam(), 2);
    tcp::Endpoint sockets({});
    sockets.admit({3, 2, 1}, {sockets.address(), job.address(1)}, 0);
    const auto stranger = open_fabric(GetParam(), 2, &sockets);
    stranger->join({{stranger->address(), ""}, {job.at(1).address(), ""}}, 0, {~job_key[0], 2, 3, 4});
    const auto from_stranger = stranger->link(1, {0, 1});
    const auto from = job.at(0).link(1, {0, 1});
    const auto to = job.at(1).link(1, {0, 1});
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100000}}) {
        const Bytes right = message(bytes, 2);
        Bytes received(bytes);
        Link::Transfer sends[2];
        Link::Transfer receive;
        to->recv(0, received.data(), bytes, 0, receive);
        from_stranger->send(1, wrong.data(), bytes, 0, sends[0]);
        for (int i = 0; i < 2000; ++i) {
            stranger->progress();
            job.progress();
            EXPECT_FALSE(to->test(receive));
        }
        from->send(1, right.data(), bytes, 0, sends[1]);
        finish(job, *to, receive);
        EXPECT_EQ(received, right);
        finish(job, *from, sends[1]);
    }
}

TEST_P(Fabrics, APeerThatEndsIsNamed) {
    FabricJob job(GetParam(), 3);
    const auto of_all = job.at(0).link(1, {0, 1, 2});
    const auto of_others = job.at(0).link(2, {0, 2});
    auto to = job.at(1).link(1, {0, 1, 2});
    const Bytes sent = message(8, 1);
    Bytes received(8);
    Link::Transfer transfers[2];
    // They know each other.
    of_all->send(1, sent.data(), 8, 0, transfers[0]);
    to->recv(0, received.data(), 8, 0, transfers[1]);
    finish(job, *to, transfers[1]);
    finish(job, *of_all, transfers[0]);
    Link::Transfer receive;
    Link::Transfer from_other;
    Bytes other(8);
    of_all->recv(1, received.data(), 8, 1, receive);
    of_others->recv(1, other.data(), 8, 0, from_other);
    for (int i = 0; i < 1000; ++i) job.progress();
    to.reset();
    job.end(1);
    EXPECT_THAT(failure_of(job, *of_all, receive),
                testing::MatchesRegex("rank 1 .node1.* (is unreachable|closed the connection): .*"));
    // A group without it goes on.
    const auto from_2 = job.at(2).link(2, {0, 2});
    Link::Transfer send;
    from_2->send(0, sent.data(), 8, 0, send);
    finish(job, *of_others, from_other);
    EXPECT_EQ(other, sent);
    finish(job, *from_2, send);
}

// What the peer has no room for yet, too, although the sends are complete.
TEST_P(Fabrics, WhatIsFlushedArrivesAfterTheEndOfItsSender) {
    FabricJob job(GetParam(), 2);
    const auto to = job.at(0).link(1, {0, 1});
    const Bytes sent = message(64, 1);
    const auto receive = [&] {
        Bytes received(sent.size());
        Link::Transfer transfer;
        to->recv(1, received.data(), received.size(), 0, transfer);
        finish(job, *to, transfer);
        ASSERT_EQ(received, sent);
    };
    std::deque<Link::Transfer> sends;
    {
        const auto from = job.at(1).link(1, {0, 1});
        const auto send = [&] { from->send(0, sent.data(), sent.size(), 0, sends.emplace_back()); };
        send();
        receive();
        // libfabric always has room, but the sockets have not.
        const bool always =
            std::string(GetParam().fabric) == "ofi" && GetParam().provider == nullptr && !LAPWING_TEST_FEWER;
        const std::size_t most = always ? 60000 : 2000;
        do send();
        while (!sends.back().active && sends.size() < most);
        for (Link::Transfer& transfer : sends) finish(job, *from, transfer);
    }
    while (!job.at(1).flush()) job.progress();
    job.end(1);
    for (std::size_t i = 1; i < sends.size(); ++i) receive();
}

// Nobody has connected with it, so nothing breaks.
TEST_P(Fabrics, APeerThatEndsBeforeItsFirstMessageIsNamed) {
    FabricJob job(GetParam(), 2);
    const auto link = job.at(0).link(1, {0, 1});
    Bytes received(8);
    Link::Transfer receive;
    link->recv(1, received.data(), 8, 0, receive);
    job.end(1);
    EXPECT_THAT(
        failure_of(job, *link, receive),
        testing::MatchesRegex("rank 1 .node1.* is unreachable: (its process has ended|UCX reports: .*)"));
}

TEST_P(Fabrics, GivingUpFailsAllThatIsOnItsWay) {
    FabricJob job(GetParam(), 2);
    const auto to = job.at(1).link(1, {0, 1});
    Bytes received(8);
    Link::Transfer receive;
    to->recv(0, received.data(), 8, 0, receive);
    job.at(1).forget_completed();
    job.at(1).give_up("the job ends");
    EXPECT_TRUE(job.at(1).has_events());
    EXPECT_EQ(failure_of(job, *to, receive), "the job ends");
    EXPECT_THROW(to->send(0, received.data(), 8, 0, receive), Error);
}

// Several threads of each rank at once, each on a channel of its own.
TEST_P(Fabrics, AnyThreadMayUseIt) {
    FabricJob job(GetParam(), 2);
    std::unique_ptr<Link> links[2] = {job.at(0).link(1, {0, 1}), job.at(1).link(1, {0, 1})};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (const int rank : {0, 1}) {
        for (std::uint32_t channel = 0; channel < 3; ++channel) {
            threads.emplace_back([&, rank, channel] {
                Link& link = *links[rank];
                for (int round = 0; round < (LAPWING_TEST_FEWER ? 20 : 60); ++round) {
                    const std::size_t bytes = static_cast<std::size_t>(1) << (round % 17);
                    const Bytes sent = message(bytes, round + static_cast<int>(channel));
                    Bytes received(bytes);
                    Link::Transfer send;
                    Link::Transfer receive;
                    link.recv(1 - rank, received.data(), bytes, channel, receive);
                    link.send(1 - rank, sent.data(), bytes, channel, send);
                    while (!link.test(receive) || !link.test(send)) std::this_thread::yield();
                    if (received != sent) ++wrong;
                }
            });
        }
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST_P(Fabrics, SaysWhatItIs) {
    const auto fabric = open_fabric(GetParam(), 2);
    EXPECT_STREQ(fabric->name(), GetParam().fabric);
    EXPECT_THAT(fabric->description(), testing::MatchesRegex(".* [0-9]+[.][0-9]+.*, .+"));
}

INSTANTIATE_TEST_SUITE_P(All, FabricMessages, testing::ValuesIn(fabric_cases), name_of);
INSTANTIATE_TEST_SUITE_P(All, Fabrics, testing::ValuesIn(fabric_cases), name_of);

#ifdef LAPWING_TEST_OFI_DOUBLES
// Other providers that need no hardware, and a double with the ways and the faults of fabrics that are not
// here.
const std::vector<FabricCase> providers = {
    {"sockets", "ofi", {}, false, "sockets"},
    {"plain", "ofi", {}, false, "double"},
    {"local", "ofi", {{"DOUBLE_OFI_LOCAL", "1"}}, false, "double"},
    {"local_puts",
     "ofi",
     {{"DOUBLE_OFI_LOCAL", "1"}, {"DOUBLE_OFI_MOST", "3000"}, {"DOUBLE_OFI_ROOM", "7"}},
     true,
     "double"},
    {"little_room", "ofi", {{"DOUBLE_OFI_ROOM", "2"}, {"DOUBLE_OFI_MOST", "1000"}}, false, "double"},
    {"blind", "ofi", {{"DOUBLE_OFI_DESCRIPTOR", "0"}}, false, "double"},
    {"puts", "ofi", {}, true, "double"},
    {"lost_events", "ofi", {{"DOUBLE_OFI_LOST_EVENTS", "2"}}, false, "double"},
    {"late_puts", "ofi", {{"DOUBLE_OFI_LATE", "20"}}, true, "double"},
    {"all",
     "ofi",
     {{"DOUBLE_OFI_LOCAL", "1"},
      {"DOUBLE_OFI_MOST", "2100"},
      {"DOUBLE_OFI_ROOM", "3"},
      {"DOUBLE_OFI_LOST_EVENTS", "1"},
      {"DOUBLE_OFI_LATE", "3"}},
     false,
     "double"},
};
INSTANTIATE_TEST_SUITE_P(Providers, FabricMessages, testing::ValuesIn(providers), name_of);
INSTANTIATE_TEST_SUITE_P(Providers, Fabrics, testing::ValuesIn(providers), name_of);
// Its messages need progress of the sender after flush().
INSTANTIATE_TEST_SUITE_P(Shm, FabricMessages, testing::Values(FabricCase{"shm", "ofi", {}, false, "shm"}),
                         name_of);
#endif

}  // namespace
}  // namespace lapwing
