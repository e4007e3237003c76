// The emulator of a card: how unkind it is, and what it refuses. What it does is what the conformance
// questions ask (mlx5_conformance_test.cpp), also with each of its rules broken.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/error.hpp"
#include "engines/mlx5/double.hpp"

namespace lapwing::mlx5_double {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Mlx5DoubleIsUnkind, WhatIsPatchedAfterTheBellIsNotSeen) {
    int unseen = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Rules rules;
        rules.seed = seed;
        Joined cards(rules);
        cards.one.manage(wait, 0xfffff0, cards.receives_a.queue().number);
        cards.one.nop(0);
        cards.one.post();
        std::byte* const second = cards.one.pair().send + block_bytes;  // at index 0xfff1
        write32(second + 8, signalled);
        cards.one.receive(0, end_of_receive, nullptr);
        cards.other.send(0, 0, nullptr);
        cards.other.post();
        cards.settle();
        unseen += cards.sends_a.read() ? 0 : 1;
    }
    // Mostly it is not seen, and sometimes it is: nobody may count on either.
    EXPECT_GT(unseen, 20);
    EXPECT_LT(unseen, 40);
}

TEST(Mlx5DoubleIsUnkind, SeedsGiveDifferentOrders) {
    // Two queues complete into one queue: which is first?
    int first_is_one = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Rules rules;
        rules.seed = seed;
        Cards cards(rules);
        Reader all(cards.completions(cards.a));
        Poster one = cards.pair(cards.a, all, all);
        Poster other = cards.pair(cards.a, all, all);
        Cards::connect(one, one);
        Cards::connect(other, other);
        one.nop();
        one.post();
        other.nop();
        other.post();
        cards.settle();
        first_is_one += all.read()->pair == one.number() ? 1 : 0;
    }
    EXPECT_GT(first_is_one, 4);
    EXPECT_LT(first_is_one, 36);
}

TEST(Mlx5DoubleIsUnkind, WhatIsSentIsReadAgainWhenTheReceiverWasNotReady) {
    Joined cards;
    cards.one.send(8, cards.key_a.local, cards.memory_a.data());
    cards.one.post();
    cards.some_rounds(200);
    std::fill_n(cards.memory_a.begin(), 8, std::byte{0xee});  // before its completion: a fault of the program
    cards.other.receive(8, cards.key_b.local, cards.memory_b.data());
    cards.settle();
    EXPECT_EQ(cards.memory_b[0], std::byte{0xee});
}

TEST(Mlx5DoublePeers, OneThatHasGoneIsAnError) {
    auto network = Network::of_process(2);
    DoubleDevice here(network, {}, Drive::hand);
    auto there = std::make_unique<DoubleDevice>(network, Rules{}, Drive::hand);
    Reader own(here.create_completion_queue({16, false, false}));
    mlx5::QueuePairOptions options{16, 16, &own.queue(), &own.queue(), mlx5::Role::plain};
    Poster one(here, here.create_queue_pair(options));
    const mlx5::CompletionQueue far = there->create_completion_queue({16, false, false});
    mlx5::QueuePairOptions far_options{16, 16, &far, &far, mlx5::Role::plain};
    const mlx5::QueuePair other = there->create_queue_pair(far_options);
    here.connect(one.pair(), there->address(other));
    there.reset();
    one.send(0, 0, nullptr);
    one.post();
    for (int round = 0; round < 1000; ++round) here.card().round();
    const auto found = own.read();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->syndrome, 0x15);
}

// Processes: the child's card sends, the parent's receives.
TEST(Mlx5DoublePeers, MayBeProcesses) {
    const auto network = Network::of_process(2);
    struct Exchange {
        std::atomic<int> ready;
        mlx5::Address parent, child;
    };
    void* const shared =
        mmap(nullptr, sizeof(Exchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto& exchange = *static_cast<Exchange*>(shared);
    constexpr int messages = 200;
    constexpr std::uint32_t bytes = 5000;
    const pid_t child = fork();
    const bool sends = child == 0;
    int wrong = 0;
    {
        DoubleDevice device(network, seeded(sends ? 2 : 3));
        Reader own(device.create_completion_queue({256, false, false}));
        mlx5::QueuePairOptions options{256, 256, &own.queue(), &own.queue(), mlx5::Role::plain};
        Poster pair(device, device.create_queue_pair(options));
        std::vector<std::byte> memory(messages * bytes);
        const mlx5::MemoryKey key = device.register_memory(memory.data(), memory.size());
        (sends ? exchange.child : exchange.parent) = device.address(pair.pair());
        exchange.ready.fetch_add(1);
        while (exchange.ready.load() < 2) std::this_thread::yield();
        device.connect(pair.pair(), sends ? exchange.parent : exchange.child);
        for (std::uint32_t message = 0; message < messages; ++message) {
            std::byte* const at = memory.data() + message * bytes;
            if (sends) {
                std::fill_n(at, bytes, static_cast<std::byte>(message));
                pair.send(bytes, key.local, at);
            } else {
                pair.receive(bytes, key.local, at);
            }
        }
        if (sends) pair.post();
        for (int message = 0; message < messages;) {
            if (const auto found = own.read()) {
                wrong += found->opcode >= 13 ? 1 : 0;
                ++message;
            } else {
                std::this_thread::yield();
            }
        }
        if (!sends)
            for (std::size_t at = 0; at < memory.size(); ++at)
                wrong += memory[at] == static_cast<std::byte>(at / bytes) ? 0 : 1;
    }
    if (sends) _exit(wrong == 0 ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    munmap(shared, sizeof(Exchange));
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(status, 0);
}

// What it refuses.

TEST(Mlx5DoubleRefuses, UnknownOpcode) {
    Joined cards;
    cards.one.put(control(cards.one.index(), 0x25, cards.one.number(), 2, signalled));  // UMR
    cards.one.nop();
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::unknown_opcode);
    // What stands behind it is flushed.
    const auto after = cards.sends_a.read();
    ASSERT_TRUE(after);
    EXPECT_EQ(after->syndrome, 0x05);
    EXPECT_EQ(after->index, 0xfff1);
    EXPECT_THAT(cards.a.card().refusals(), SizeIs(1));
}

// The refusal of what one queue posts, by itself.
Refusal refusal_of(const std::function<void(Joined&)>& post, std::uint8_t syndrome = local_operation,
                   mlx5::Role role = mlx5::Role::plain) {
    Joined cards({}, role);
    post(cards);
    cards.settle();
    return cards.refused(cards.sends_a, syndrome);
}
Refusal refusal_of_entry(const std::function<Bytes(const Poster&)>& entry) {
    return refusal_of([&](Joined& cards) {
        cards.one.put(entry(cards.one));
        cards.one.record();
        cards.one.ring_for(cards.one.index());
    });
}

TEST(Mlx5DoubleRefuses, WrongEntries) {
    const auto entry = [](int off, std::uint8_t opcode, unsigned segments, std::uint32_t flags = 0,
                          std::uint8_t modifier = 0) {
        return refusal_of_entry([=](const Poster& one) {
            Bytes bytes = control(static_cast<std::uint16_t>(one.index() + off), opcode, one.number(),
                                  segments, flags, 0, modifier);
            bytes.resize(block_bytes);
            return bytes;
        });
    };
    EXPECT_EQ(entry(0, wait, 3, signalled, 2), Refusal::unknown_modifier);  // for a time
    for (const int off : {-1, 1, 16, -16, 256}) EXPECT_EQ(entry(off, nop, 1), Refusal::wrong_index) << off;
    for (const unsigned segments : {1, 3, 4}) EXPECT_EQ(entry(0, wait, segments), Refusal::wrong_size);
    EXPECT_EQ(entry(0, send_enable, 3), Refusal::wrong_size);
    EXPECT_EQ(entry(0, rdma_write, 1), Refusal::wrong_size);
    EXPECT_EQ(entry(0, nop, 0), Refusal::wrong_size);
    EXPECT_EQ(entry(0, nop, 8), Refusal::wrong_size);  // the second block is not posted
    EXPECT_EQ(entry(0, nop, 1, 0x01000000), Refusal::reserved_bits);
    EXPECT_EQ(refusal_of_entry([](const Poster& one) { return control(one.index(), nop, 0x12345, 1); }),
              Refusal::wrong_queue);
}

TEST(Mlx5DoubleRefuses, UnknownObject) {
    // A queue pair's number where a completion queue's belongs, and the other way round; a queue of another
    // card.
    const auto manages = [](std::uint8_t opcode, const std::function<std::uint32_t(Joined&)>& object) {
        return refusal_of(
            [&](Joined& cards) {
                cards.one.manage(opcode, 0, object(cards));
                cards.one.post();
            },
            local_operation, mlx5::Role::master);
    };
    EXPECT_EQ(manages(wait, [](Joined& cards) { return cards.one.number(); }), Refusal::unknown_object);
    EXPECT_EQ(manages(send_enable, [](Joined& cards) { return cards.sends_a.queue().number; }),
              Refusal::unknown_object);
    EXPECT_EQ(manages(wait, [](Joined& cards) { return cards.sends_b.queue().number; }),
              Refusal::unknown_object);
}

TEST(Mlx5DoubleRefuses, KeyThatDoesNotCoverTheSpan) {
    const auto sends = [](std::ptrdiff_t from, std::uint32_t bytes,
                          const std::function<std::uint32_t(Joined&)>& key) {
        return refusal_of(
            [&](Joined& cards) {
                Bytes entry = control(cards.one.index(), send, cards.one.number(), 2, signalled);
                cards.one.put(data(entry, bytes, key(cards), cards.memory_a.data() + from));
                cards.one.post();
            },
            local_protection);
    };
    const auto right = [](Joined& cards) { return cards.key_a.local; };
    EXPECT_EQ(sends(0, 65536, right), Refusal::none);
    EXPECT_EQ(sends(1, 65536, right), Refusal::memory_key);
    EXPECT_EQ(sends(-1, 2, right), Refusal::memory_key);
    EXPECT_EQ(sends(65536, 1, right), Refusal::memory_key);
    EXPECT_EQ(sends(0, 0, right), Refusal::memory_key);
    // The remote key of the same memory, and a key of another card.
    EXPECT_EQ(sends(0, 4, [](Joined& cards) { return cards.key_a.remote; }), Refusal::memory_key);
    EXPECT_EQ(sends(0, 4, [](Joined& cards) { return cards.key_b.local; }), Refusal::memory_key);
}

TEST(Mlx5DoubleRefuses, WrongBells) {
    for (const bool of_last_entry : {true, false}) {
        const auto before_the_record = [=](Joined& cards) {
            cards.one.nop();
            of_last_entry ? cards.one.ring() : cards.one.ring_for(cards.one.index());
            cards.one.record();
        };
        EXPECT_EQ(refusal_of(before_the_record), Refusal::bell_before_record);
    }
    const auto posts = [](int entries) {
        return [=](Joined& cards) {
            for (int entry = 0; entry < entries; ++entry)
                cards.one.send(4, cards.key_a.local, cards.memory_a.data());  // nobody receives
            cards.one.post();
        };
    };
    EXPECT_EQ(refusal_of(posts(17)), Refusal::queue_overflow);
    EXPECT_EQ(refusal_of(posts(1), local_operation, mlx5::Role::managed), Refusal::bell_of_managed);
}

TEST(Mlx5DoubleRefuses, RemoteMemoryThatTheKeyDoesNotCover) {
    for (const bool beyond : {true, false}) {
        Joined cards;
        const std::uint32_t key = beyond ? cards.key_b.remote : cards.key_b.local;
        cards.one.write(8, cards.key_a.local, cards.memory_a.data(), key,
                        cards.memory_b.data() + (beyond ? 65536 - 7 : 0));
        cards.one.post();
        cards.settle();
        const auto found = cards.sends_a.read();
        ASSERT_TRUE(found);
        EXPECT_EQ(found->syndrome, 0x13);
        EXPECT_THAT(cards.b.card().refusals(), SizeIs(1));
    }
}

TEST(Mlx5DoubleRefuses, ReceiveShorterThanTheMessage) {
    Joined cards;
    cards.other.receive(99, cards.key_b.local, cards.memory_b.data());
    cards.one.send(100, cards.key_a.local, cards.memory_a.data());
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.sends_a.read()->syndrome, 0x12);
    const auto received = cards.receives_b.read();
    ASSERT_TRUE(received);
    EXPECT_EQ(received->opcode, 14);
    EXPECT_EQ(received->syndrome, 0x01);
}

TEST(Mlx5DoubleRefuses, ReceiveWhoseKeyDoesNotCoverIt) {
    Joined cards;
    cards.other.receive(100, cards.key_b.remote, cards.memory_b.data());
    cards.one.send(4, cards.key_a.local, cards.memory_a.data());
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.receives_b.read()->syndrome, local_protection);
    EXPECT_EQ(cards.sends_a.read()->syndrome, 0x14);
}

TEST(Mlx5DoubleRefuses, EnableInAQueueThatIsNoMaster) {
    Joined cards({}, mlx5::Role::managed);
    Reader own(cards.completions(cards.a));
    Poster plain = cards.pair(cards.a, own, own);
    Cards::connect(plain, plain);
    cards.one.nop();
    plain.manage(send_enable, 0xfff1, cards.one.number());
    plain.post();
    cards.settle();
    EXPECT_EQ(cards.refused(own, local_operation), Refusal::not_master);
    EXPECT_FALSE(cards.sends_a.read());
}

TEST(Mlx5DoubleRefuses, WaitInAPlainQueueOnlyIfStrict) {
    for (const bool strict : {false, true}) {
        Rules rules;
        rules.strict = strict;
        Joined cards(rules);
        EXPECT_EQ(static_cast<bool>(cards.a.capabilities().wait_in_plain), !strict);
        cards.one.nop();
        cards.one.manage(wait, 0xfffff0, cards.sends_a.queue().number, signalled);
        cards.one.post();
        cards.settle();
        EXPECT_TRUE(cards.sends_a.read());
        const auto second = cards.sends_a.read();
        ASSERT_TRUE(second);
        EXPECT_EQ(second->refusal, strict ? Refusal::not_master : Refusal::none);
    }
}

TEST(Mlx5DoubleRefuses, EnableOfAQueueThatIsNotManaged) {
    Joined cards({}, mlx5::Role::master);
    Reader own(cards.completions(cards.a));
    Poster plain = cards.pair(cards.a, own, own);
    cards.one.manage(send_enable, 0xfff1, plain.number());
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::not_managed);
}

TEST(Mlx5DoubleRefuses, EnableBeyondWhatIsPosted) {
    // Nothing, or the entries of the last time around, lie there; or the ring is shorter.
    for (const int posted : {2, 16}) {
        Joined cards({}, mlx5::Role::managed);
        Reader own(cards.completions(cards.a));
        Poster master = cards.pair(cards.a, own, own, mlx5::Role::master);
        Cards::connect(master, master);
        for (int entry = 0; entry < posted; ++entry) cards.one.nop();
        if (posted == 16) {
            master.manage(send_enable, 0x0000, cards.one.number());
            master.post();
            cards.settle();
        }
        master.manage(send_enable, static_cast<std::uint32_t>((0xfff0 + posted + 1) & 0xffff),
                      cards.one.number());
        master.post();
        cards.settle();
        EXPECT_EQ(cards.refused(own, local_operation), Refusal::beyond_posted) << posted;
    }
    Joined cards({}, mlx5::Role::managed);
    Reader own(cards.completions(cards.a));
    Poster master = cards.pair(cards.a, own, own, mlx5::Role::master);
    Cards::connect(master, master);
    master.manage(send_enable, 0xfff0 + 0x7fff, cards.one.number());
    master.post();
    cards.settle();
    EXPECT_EQ(cards.refused(own, local_operation), Refusal::beyond_posted);
}

TEST(Mlx5DoubleRefuses, EnableTooFarAhead) {
    for (const std::uint32_t ahead : {0x8000, 0x9000}) {
        Joined cards({}, mlx5::Role::managed);
        Reader own(cards.completions(cards.a));
        Poster master = cards.pair(cards.a, own, own, mlx5::Role::master);
        Cards::connect(master, master);
        master.manage(send_enable, (0xfff0 + ahead) & 0xffff, cards.one.number());
        master.post();
        cards.settle();
        EXPECT_EQ(cards.refused(own, local_operation), Refusal::too_far) << ahead;
    }
}

TEST(Mlx5DoubleRefuses, OverrunOfACompletionQueue) {
    for (const bool ignored : {false, true}) {
        Cards cards;
        Reader own(cards.completions(cards.a, 4, ignored));
        Poster loop = cards.pair(cards.a, own, own);
        Cards::connect(loop, loop);
        for (int entry = 0; entry < 5; ++entry) loop.nop();
        loop.post();
        cards.settle();
        EXPECT_EQ(cards.a.card().completions(own.queue().number), ignored ? 5u : 4u);
        EXPECT_THAT(cards.a.card().refusals(), SizeIs(ignored ? 0 : 1));
    }
}

TEST(Mlx5DoubleRefuses, WhatItWasMadeWithout) {
    Rules rules;
    rules.cross_channel = false;
    Joined cards(rules);
    EXPECT_FALSE(cards.a.capabilities().cross_channel);
    EXPECT_THROW(cards.pair(cards.a, cards.sends_a, cards.sends_a, mlx5::Role::master), Error);
}

}  // namespace
}  // namespace lapwing::mlx5_double
