// Two doubles of cards, for the tests of the double itself.
#pragma once

#include <numeric>

#include "engines/mlx5_double.hpp"

namespace lapwing::mlx5_double {

inline Rules seeded(std::uint64_t seed) {
    Rules rules;
    rules.seed = seed;
    rules.delay = static_cast<unsigned>(seed % 4);
    return rules;
}

// Two cards that go on by hand, with memory of 64 KiB each.
class Cards {
  public:
    explicit Cards(const Rules& rules = {})
        : network(Network::of_process(2)), a(network, rules, Drive::hand), b(network, rules, Drive::hand) {
        memory_a.resize(65536);
        memory_b.resize(65536);
        std::iota(reinterpret_cast<unsigned char*>(memory_a.data()),
                  reinterpret_cast<unsigned char*>(memory_a.data() + memory_a.size()), 1);
        key_a = a.register_memory(memory_a.data(), memory_a.size());
        key_b = b.register_memory(memory_b.data(), memory_b.size());
    }

    mlx5::CompletionQueue completions(DoubleDevice& device, std::uint32_t entries = 64,
                                      bool overrun = false) {
        return device.create_completion_queue({entries, overrun, true});
    }
    Poster pair(DoubleDevice& device, const Reader& sends, const Reader& receives,
                mlx5::Role role = mlx5::Role::plain, std::uint32_t blocks = 16) {
        mlx5::QueuePairOptions options;
        options.send_blocks = blocks;
        options.receive_entries = 16;
        options.send_completions = &sends.queue();
        options.receive_completions = &receives.queue();
        options.role = role;
        return {device, device.create_queue_pair(options)};
    }
    static void connect(Poster& one, Poster& other) {
        one.device().connect(one.pair(), other.device().address(other.pair()));
        if (&one != &other) other.device().connect(other.pair(), one.device().address(one.pair()));
    }
    // Until nothing moves any more.
    void settle() {
        for (int quiet = 0, rounds = 0; quiet < 1000 && rounds < 20000; ++rounds) {
            const Round round = std::max(a.card().round(), b.card().round());
            quiet = round == Round::moved ? 0 : quiet + (round == Round::idle ? 50 : 1);
        }
    }
    void some_rounds(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            a.card().round();
            b.card().round();
        }
    }

    std::shared_ptr<Network> network;
    DoubleDevice a;
    DoubleDevice b;
    std::vector<std::byte> memory_a;
    std::vector<std::byte> memory_b;
    mlx5::MemoryKey key_a;
    mlx5::MemoryKey key_b;
};

// A queue pair on each card, connected.
class Joined : public Cards {
  public:
    explicit Joined(const Rules& rules = {}, mlx5::Role role = mlx5::Role::plain, std::uint32_t entries = 64)
        : Cards(rules),
          sends_a(completions(a, entries)),
          receives_a(completions(a, entries)),
          sends_b(completions(b, entries)),
          receives_b(completions(b, entries)),
          one(pair(a, sends_a, receives_a, role)),
          other(pair(b, sends_b, receives_b)) {
        connect(one, other);
    }
    // The one completion that is there, which must be an error.
    Refusal refused(Reader& reader, std::uint8_t syndrome) {
        const std::optional<Completion> found = reader.read();
        if (!found) return Refusal::none;
        EXPECT_EQ(found->opcode, 13);
        EXPECT_EQ(found->syndrome, syndrome);
        return found->refusal;
    }

    Reader sends_a, receives_a, sends_b, receives_b;
    Poster one, other;
};

constexpr std::uint8_t local_operation = 0x02;
constexpr std::uint8_t local_protection = 0x04;

}  // namespace lapwing::mlx5_double
