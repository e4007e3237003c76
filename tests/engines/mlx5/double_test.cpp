// The emulator of a card: how unkind it is, and what it refuses. What it does is what the conformance
// questions ask (conformance_test.cpp), also with each of its rules broken.
#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "engines/mlx5/doubles/device.hpp"
#include "engines/mlx5/queues.hpp"

namespace lapwing::mlx5_double {
namespace {

using mlx5::Report;
using mlx5::Role;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t bytes = 4096;
constexpr std::uint32_t depth = 16;  // of all queues but those of completions

// A queue pair that is connected to itself, and memory, on a card that advances by hand.
class Loop {
  public:
    explicit Loop(Role role = Role::plain, const Rules& rules = {}, std::uint32_t completions = 64,
                  bool ignore_overrun = false)
        : device(Network::of_process(1), rules, Drive::hand),
          done(device.create_completion_queue({completions, ignore_overrun, false})),
          arrived(device.create_completion_queue({64, false, false})),
          sends(make_pair(role, done)),
          receives(sends.pair()),
          key(device.register_memory(memory.data(), memory.size())) {}

    mlx5::QueuePair make_pair(Role role, const mlx5::CompletionReader& completions) {
        const mlx5::QueuePair pair =
            device.create_queue_pair({depth, depth, &completions.queue(), &arrived.queue(), role});
        device.connect(pair, device.address(pair));
        return pair;
    }
    static mlx5::Position position(const mlx5::SendQueue& queue) {
        return {queue.next(), queue.pair().number};
    }
    mlx5::Data from(std::int64_t at, std::uint32_t count) const { return {address(at), count, key.local}; }
    mlx5::RemoteData to(std::int64_t at) const { return {address(at), key.remote}; }

    void send(const mlx5::Data& data) {
        mlx5::put_send(sends.block(), position(sends), data, Report::yes);
        sends.post();
    }
    void write(const mlx5::Data& data, const mlx5::RemoteData& target) {
        mlx5::put_write(sends.block(), position(sends), target, data, false, Report::yes);
        sends.post();
    }
    void wait(std::uint32_t completion_queue) {
        mlx5::put_wait(sends.block(), position(sends), completion_queue, done.index(0), Report::yes);
        sends.post();
    }
    void enable(mlx5::SendQueue& by, std::uint32_t queue_pair, int count) {
        const auto end = static_cast<std::uint16_t>(sends.pair().first_send + count);
        mlx5::put_enable(by.block(), position(by), queue_pair, end, Report::yes);
        by.post();
        by.ring();
    }
    void receive(const mlx5::Data& data) {
        receives.post(data);
        receives.publish();
    }
    // The block of the request that was posted last.
    std::byte* last_block() const {
        return sends.pair().send +
               std::size_t{(sends.next() - 1U) & (sends.pair().send_blocks - 1)} * block_bytes;
    }
    // Until nothing moves any more.
    void settle() {
        for (int quiet = 0, rounds = 0; quiet < 1000 && rounds < 20000; ++rounds) {
            const Round round = device.card().round();
            quiet = round == Round::moved ? 0 : quiet + (round == Round::idle ? 50 : 1);
        }
    }
    std::vector<std::string> refusals() {
        settle();
        return device.card().refusals();
    }
    static std::vector<mlx5::Completion> read(mlx5::CompletionReader& reader) {
        std::vector<mlx5::Completion> all;
        reader.read_all([&](const mlx5::Completion& one) { all.push_back(one); });
        return all;
    }

    std::vector<std::byte> memory = std::vector<std::byte>(bytes);
    DoubleDevice device;
    mlx5::CompletionReader done, arrived;
    mlx5::SendQueue sends;
    mlx5::ReceiveQueue receives;
    mlx5::MemoryKey key;

  private:
    std::uint64_t address(std::int64_t at) const {
        return reinterpret_cast<std::uint64_t>(memory.data()) + static_cast<std::uint64_t>(at);
    }
};

TEST(Mlx5Double, ReadsAgainWhatIsSentWhenTheReceiverWasNotReady) {
    Loop card;
    card.send(card.from(0, 8));
    card.sends.ring();
    for (int round = 0; round < 200; ++round) card.device.card().round();
    card.memory[0] = std::byte{0xee};  // before its completion: a fault of the program
    card.receive(card.from(8, 8));
    card.settle();
    EXPECT_EQ(card.memory[8], std::byte{0xee});
}

struct Wrong {
    const char* refusal;
    void (*post)(Loop&);
    Role role = Role::plain;
};
class Mlx5DoubleRefuses : public testing::TestWithParam<Wrong> {};

TEST_P(Mlx5DoubleRefuses, WhatACardWould) {
    Loop card(GetParam().role);
    GetParam().post(card);
    card.sends.ring();
    EXPECT_THAT(card.refusals(), ElementsAre(HasSubstr(GetParam().refusal)));
}

// A request with one wrong byte, before a right one, which rings.
template <std::size_t at, unsigned value>
void write_with_byte(Loop& card) {
    card.write(card.from(0, 8), card.to(8));
    card.last_block()[at] = static_cast<std::byte>(value);
    card.write({}, {});
}
template <std::size_t at, unsigned value>
void wait_with_byte(Loop& card) {
    card.wait(card.done.queue().number);
    card.last_block()[at] = static_cast<std::byte>(value);
    card.write({}, {});
}
template <std::int64_t at, std::uint32_t count>
void send_from(Loop& card) {
    card.send(card.from(at, count));
}
template <int posted, int enabled>
void enable_of_posted(Loop& card) {
    mlx5::SendQueue master(card.make_pair(Role::master, card.arrived));
    for (int request = 0; request < posted; ++request) card.write({}, {});
    if (posted == static_cast<int>(depth)) {
        card.enable(master, card.sends.pair().number, posted);
        EXPECT_THAT(card.refusals(), IsEmpty());
    }
    card.enable(master, card.sends.pair().number, enabled);
}

constexpr const char* wrong_size = "size not allowed";
constexpr const char* uncovered = "memory that the key does not cover";
constexpr const char* beyond = "enable beyond what is posted";
INSTANTIATE_TEST_SUITE_P(
    Requests, Mlx5DoubleRefuses,
    testing::Values(
        Wrong{"unknown opcode modifier", wait_with_byte<0, 2>},  // a WAIT for a time
        Wrong{"reserved bits", write_with_byte<8, 1>},
        Wrong{"the number of another queue", write_with_byte<4, 0xff>},
        Wrong{wrong_size, wait_with_byte<7, 1>}, Wrong{wrong_size, wait_with_byte<7, 3>},
        Wrong{wrong_size, write_with_byte<7, 0>}, Wrong{wrong_size, write_with_byte<7, 1>},
        Wrong{wrong_size, write_with_byte<7, 8>}, Wrong{"wrong index", write_with_byte<1, 0x7f>},
        Wrong{"wrong index", write_with_byte<2, 0>},
        Wrong{"unknown opcode", write_with_byte<3, 0x25>},  // UMR
        Wrong{uncovered, send_from<1, bytes>}, Wrong{uncovered, send_from<-1, 2>},
        Wrong{uncovered, send_from<bytes, 1>},
        Wrong{uncovered,
              [](Loop& card) {
                  card.send({card.from(0, 8).address, 8, card.key.remote});
              }},
        Wrong{"remote memory that the key does not cover",
              [](Loop& card) { card.write(card.from(0, 8), card.to(bytes - 7)); }},
        Wrong{"remote memory that the key does not cover",
              [](Loop& card) {
                  card.write(card.from(0, 8), {card.to(8).address, card.key.local});
              }},
        Wrong{"receive shorter than the message",
              [](Loop& card) {
                  card.receive(card.from(200, 99));
                  card.send(card.from(0, 100));
              }},
        Wrong{uncovered,
              [](Loop& card) {
                  card.receive({card.from(8, 8).address, 8, card.key.remote});
                  card.send(card.from(0, 8));
              }},
        Wrong{"posted over a request that is not complete",
              [](Loop& card) {
                  // The receives are missing.
                  for (std::uint32_t request = 0; request <= depth; ++request) card.send(card.from(0, 8));
              }},
        Wrong{"bell before the doorbell record",
              [](Loop& card) {
                  card.write({}, {});
                  card.sends.pair().bell.ring(mlx5::bell_value(card.last_block()));
              }},
        Wrong{"bell of a managed queue",
              [](Loop& card) {
                  card.write({}, {});
                  card.sends.pair().bell.ring(mlx5::bell_value(card.last_block()));
              },
              Role::managed},
        Wrong{"no such queue", [](Loop& card) { card.wait(card.sends.pair().number); }},
        Wrong{"no such queue", [](Loop& card) { card.enable(card.sends, card.done.queue().number, 1); },
              Role::master},
        Wrong{"no master", [](Loop& card) { card.enable(card.sends, card.sends.pair().number, 1); }},
        Wrong{"not managed", [](Loop& card) { card.enable(card.sends, card.sends.pair().number, 1); },
              Role::master},
        // Nothing, or the entries of the last time around, lie there; or the ring is shorter.
        Wrong{beyond, enable_of_posted<2, 3>, Role::managed},
        Wrong{beyond, enable_of_posted<16, 17>, Role::managed},
        Wrong{beyond, enable_of_posted<0, 0x7fff>, Role::managed},
        Wrong{"enable 2^15 or more ahead", enable_of_posted<0, 0x8000>, Role::managed},
        Wrong{"enable 2^15 or more ahead", enable_of_posted<0, 0x9000>, Role::managed}));

TEST(Mlx5Double, FlushesWhatFollowsARefusedRequest) {
    Loop card;
    write_with_byte<8, 1>(card);
    card.sends.ring();
    card.settle();
    const auto completions = Loop::read(card.done);
    ASSERT_EQ(completions.size(), 2U);
    EXPECT_EQ(completions[0].syndrome, 0x02);
    EXPECT_EQ(completions[1].syndrome, 0x05);
}

TEST(Mlx5Double, WaitsInAPlainQueueUnlessItIsStrict) {
    for (const bool strict : {false, true}) {
        Rules rules;
        rules.strict = strict;
        Loop card(Role::plain, rules);
        EXPECT_EQ(static_cast<bool>(card.device.capabilities().wait_in_plain), !strict);
        card.wait(card.arrived.queue().number);
        card.sends.ring();
        EXPECT_EQ(card.refusals().empty(), !strict);
    }
}

TEST(Mlx5Double, RefusesAnOverrunOfACompletionQueue) {
    for (const bool ignored : {false, true}) {
        Loop card(Role::plain, {}, 4, ignored);
        for (int request = 0; request < 5; ++request) card.write({}, {});
        card.sends.ring();
        EXPECT_EQ(card.refusals().empty(), ignored);
    }
}

TEST(Mlx5Double, LacksWhatItWasMadeWithout) {
    Rules rules;
    rules.cross_channel = false;
    DoubleDevice card(Network::of_process(1), rules, Drive::hand);
    EXPECT_FALSE(card.capabilities().cross_channel);
    const mlx5::CompletionQueue queue = card.create_completion_queue({16, false, false});
    EXPECT_THROW(card.create_queue_pair({16, 16, &queue, &queue, Role::master}), Error);
}

}  // namespace
}  // namespace lapwing::mlx5_double
