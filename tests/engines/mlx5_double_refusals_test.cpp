// What the double of a card refuses.
#include "engines/mlx5_double_cards.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace lapwing::mlx5_double {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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

TEST(Mlx5DoubleRefuses, UnknownModifier) {
    Joined cards;
    cards.one.put(control(cards.one.index(), wait, cards.one.number(), 3, signalled, 0, 2));  // a time
    cards.one.put(Bytes(0));
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::unknown_modifier);
}

TEST(Mlx5DoubleRefuses, WrongIndex) {
    for (const int off : {-1, 1, 16, -16, 256}) {
        Joined cards;
        cards.one.put(
            control(static_cast<std::uint16_t>(cards.one.index() + off), nop, cards.one.number(), 1));
        cards.one.record();
        cards.one.ring_for(cards.one.index());
        cards.settle();
        EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::wrong_index) << off;
    }
}

TEST(Mlx5DoubleRefuses, WrongOwnNumber) {
    Joined cards;
    cards.one.put(control(cards.one.index(), nop, cards.other.number(), 1));
    cards.one.nop();
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::wrong_queue);
}

TEST(Mlx5DoubleRefuses, SizeNotAllowed) {
    const auto refusal = [](std::uint8_t opcode, unsigned segments, std::uint8_t modifier = 0) {
        Joined cards;
        Bytes entry = control(cards.one.index(), opcode, cards.one.number(), segments, 0, 0, modifier);
        entry.resize(block_bytes);
        cards.one.put(entry);
        cards.one.record();
        cards.one.ring_for(cards.one.index());
        cards.settle();
        return cards.refused(cards.sends_a, local_operation);
    };
    EXPECT_EQ(refusal(wait, 1), Refusal::wrong_size);
    EXPECT_EQ(refusal(wait, 3), Refusal::wrong_size);
    EXPECT_EQ(refusal(wait, 4), Refusal::wrong_size);
    EXPECT_EQ(refusal(wait, 2, 1), Refusal::wrong_size);
    EXPECT_EQ(refusal(send_enable, 3), Refusal::wrong_size);
    EXPECT_EQ(refusal(rdma_write, 1), Refusal::wrong_size);
    EXPECT_EQ(refusal(nop, 0), Refusal::wrong_size);
    EXPECT_EQ(refusal(nop, 8), Refusal::wrong_size);  // the second block is not posted
}

TEST(Mlx5DoubleRefuses, ReservedBits) {
    Joined cards;
    cards.one.put(control(cards.one.index(), nop, cards.one.number(), 1, 0x01000000));
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::reserved_bits);
}

TEST(Mlx5DoubleRefuses, UnknownObject) {
    for (const std::uint8_t opcode : {wait, send_enable}) {
        Joined cards({}, mlx5::Role::master);
        // A queue pair's number where a completion queue's belongs, and the other way round.
        cards.one.manage(opcode, 0, opcode == wait ? cards.one.number() : cards.sends_a.queue().number);
        cards.one.post();
        cards.settle();
        EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::unknown_object);
    }
    // A queue of another card.
    Joined cards;
    cards.one.manage(wait, 0, cards.sends_b.queue().number);
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::unknown_object);
}

TEST(Mlx5DoubleRefuses, KeyThatDoesNotCoverTheSpan) {
    const auto refusal = [](auto&& post) {
        Joined cards;
        post(cards);
        cards.one.post();
        cards.settle();
        return cards.refused(cards.sends_a, local_protection);
    };
    const auto sends = [&](std::ptrdiff_t from, std::uint32_t bytes) {
        return refusal(
            [&](Joined& cards) { cards.one.send(bytes, cards.key_a.local, cards.memory_a.data() + from); });
    };
    EXPECT_EQ(sends(0, 65536), Refusal::none);
    EXPECT_EQ(sends(1, 65536), Refusal::memory_key);
    EXPECT_EQ(sends(-1, 2), Refusal::memory_key);
    EXPECT_EQ(sends(65536, 1), Refusal::memory_key);
    // The remote key of the same memory, and a key of another card.
    EXPECT_EQ(refusal([](Joined& cards) { cards.one.send(4, cards.key_a.remote, cards.memory_a.data()); }),
              Refusal::memory_key);
    EXPECT_EQ(refusal([](Joined& cards) { cards.one.send(4, cards.key_b.local, cards.memory_b.data()); }),
              Refusal::memory_key);
}

TEST(Mlx5DoubleRefuses, SpanOfNoBytes) {
    Joined cards;
    Bytes entry = control(cards.one.index(), send, cards.one.number(), 2);
    data(entry, 0, cards.key_a.local, cards.memory_a.data());
    cards.one.put(entry);
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_protection), Refusal::memory_key);
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

TEST(Mlx5DoubleRefuses, BellBeforeTheRecord) {
    for (const bool of_last_entry : {true, false}) {
        Joined cards;
        cards.one.nop();
        of_last_entry ? cards.one.ring() : cards.one.ring_for(cards.one.index());
        cards.one.record();
        cards.settle();
        EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::bell_before_record);
    }
}

TEST(Mlx5DoubleRefuses, BellOfAManagedQueue) {
    Joined cards({}, mlx5::Role::managed);
    cards.one.nop();
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::bell_of_managed);
}

TEST(Mlx5DoubleRefuses, PostOverARequestThatIsNotComplete) {
    Joined cards;
    for (int entry = 0; entry < 17; ++entry)
        cards.one.send(4, cards.key_a.local, cards.memory_a.data());  // nobody receives
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::queue_overflow);
}

TEST(Mlx5DoubleRefuses, WhatItWasMadeWithout) {
    Rules rules;
    rules.cross_channel = false;
    rules.wait_on_data = false;
    Joined cards(rules);
    EXPECT_FALSE(cards.a.capabilities().cross_channel);
    EXPECT_THROW(cards.pair(cards.a, cards.sends_a, cards.sends_a, mlx5::Role::master), Error);
    cards.one.wait_for_data(0, cards.key_a.local, cards.memory_a.data(), 0, 0);
    cards.one.post();
    cards.settle();
    EXPECT_EQ(cards.refused(cards.sends_a, local_operation), Refusal::unsupported);
}

}  // namespace
}  // namespace lapwing::mlx5_double
