// For tests of the emulator of a card: entries of queues byte by byte, not by the engine's encoder.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "engines/mlx5/doubles/device.hpp"

namespace lapwing::mlx5_double {

using Bytes = std::vector<std::byte>;

inline void put32(Bytes& bytes, std::uint32_t value) {
    bytes.resize(bytes.size() + 4);
    write32(bytes.data() + bytes.size() - 4, value);
}
inline void put64(Bytes& bytes, std::uint64_t value) {
    put32(bytes, static_cast<std::uint32_t>(value >> 32));
    put32(bytes, static_cast<std::uint32_t>(value));
}

constexpr std::uint32_t signalled = 0x08;

// Control segment; `segments` counts it.
inline Bytes control(std::uint16_t index, std::uint8_t opcode, std::uint32_t queue, unsigned segments,
                     std::uint32_t flags = 0, std::uint32_t immediate = 0, std::uint8_t modifier = 0) {
    Bytes bytes;
    put32(bytes, std::uint32_t{modifier} << 24 | std::uint32_t{index} << 8 | opcode);
    put32(bytes, queue << 8 | segments);
    put32(bytes, flags);
    put32(bytes, immediate);
    return bytes;
}
inline Bytes& data(Bytes& bytes, std::uint32_t count, std::uint32_t key, const void* address) {
    put32(bytes, count);
    put32(bytes, key);
    put64(bytes, reinterpret_cast<std::uint64_t>(address));
    return bytes;
}

// A queue pair whose owner posts by hand.
class Poster {
  public:
    Poster(DoubleDevice& device, const mlx5::QueuePair& pair)
        : device_(&device), pair_(pair), index_(pair.first_send), receives_(pair.first_receive) {}

    const mlx5::QueuePair& pair() const { return pair_; }
    std::uint32_t number() const { return pair_.number; }
    std::uint16_t index() const { return index_; }  // of the next block
    std::uint16_t receives() const { return receives_; }

    // Where the next entry goes, whatever it says of itself.
    void put(const Bytes& entry) {
        for (std::size_t at = 0; at < entry.size(); at += block_bytes) {
            std::byte* const block =
                pair_.send + std::size_t{index_ & (pair_.send_blocks - 1u)} * block_bytes;
            std::memcpy(block, entry.data() + at, std::min<std::size_t>(block_bytes, entry.size() - at));
            last_ = at == 0 ? block : last_;
            ++index_;
        }
    }
    void nop(std::uint32_t flags = signalled) { put(control(index_, mlx5_double::nop, number(), 1, flags)); }
    void send(std::uint32_t count, std::uint32_t key, const void* address, std::uint32_t flags = signalled,
              std::uint8_t opcode = mlx5_double::send, std::uint32_t immediate = 0) {
        Bytes entry = control(index_, opcode, number(), count > 0 ? 2 : 1, flags, immediate);
        if (count > 0) data(entry, count, key, address);
        put(entry);
    }
    void write(std::uint32_t count, std::uint32_t key, const void* address, std::uint32_t remote_key,
               const void* remote, std::uint32_t flags = signalled, std::uint8_t opcode = rdma_write,
               std::uint32_t immediate = 0) {
        Bytes entry = control(index_, opcode, number(), count > 0 ? 3 : 2, flags, immediate);
        put64(entry, reinterpret_cast<std::uint64_t>(remote));
        put32(entry, remote_key);
        put32(entry, 0);
        if (count > 0) data(entry, count, key, address);
        put(entry);
    }
    void manage(std::uint8_t opcode, std::uint32_t max_index, std::uint32_t object, std::uint32_t flags = 0) {
        Bytes entry = control(index_, opcode, number(), 2, flags);
        put64(entry, 0);
        put32(entry, max_index);
        put32(entry, object);
        put(entry);
    }
    void receive(std::uint32_t count, std::uint32_t key, const void* address) {
        Bytes entry;
        std::byte* const at =
            pair_.receive + std::size_t{receives_ & (pair_.receive_entries - 1u)} * segment_bytes;
        std::memcpy(at, data(entry, count, key, address).data(), segment_bytes);
        ++receives_;
        store(0, receives_);
    }
    void record() { store(1, index_); }
    void ring() {
        std::uint64_t value = 0;
        std::memcpy(&value, last_, sizeof value);
        pair_.bell.ring(value);
    }
    // As pcx rings: with the producer index.
    void ring_for(std::uint16_t producer) {
        const Bytes words = control(producer, 0, number(), 0);
        std::uint64_t value = 0;
        std::memcpy(&value, words.data(), sizeof value);
        pair_.bell.ring(value);
    }
    void post() {
        record();
        ring();
    }
    void store(int word, std::uint32_t value) {
        std::byte bytes[4];
        write32(bytes, value);
        std::uint32_t stored = 0;
        std::memcpy(&stored, bytes, sizeof stored);
        __atomic_store_n(pair_.record + word, stored, __ATOMIC_RELEASE);
    }
    DoubleDevice& device() { return *device_; }

  private:
    DoubleDevice* device_;
    mlx5::QueuePair pair_;
    std::uint16_t index_;
    std::uint16_t receives_;
    std::byte* last_ = nullptr;
};

struct Completion {
    std::uint8_t opcode = 0;
    std::uint8_t request = 0;
    std::uint32_t pair = 0;
    std::uint16_t index = 0;
    std::uint32_t bytes = 0;
    std::uint32_t immediate = 0;
    std::uint8_t syndrome = 0;
    Refusal refusal = Refusal::none;
};

// Reads a completion queue in order.
class Reader {
  public:
    explicit Reader(const mlx5::CompletionQueue& queue) : queue_(queue), next_(queue.first) {}

    const mlx5::CompletionQueue& queue() const { return queue_; }
    std::uint32_t next() const { return next_; }
    std::optional<Completion> read() {
        const std::byte* const entry =
            queue_.memory + std::size_t{next_ & (queue_.entries - 1)} * block_bytes;
        const std::uint8_t last =
            __atomic_load_n(reinterpret_cast<const std::uint8_t*>(entry + 63), __ATOMIC_ACQUIRE);
        const bool owner = (next_ & queue_.entries) != 0;
        if (last >> 4 == 0xf || ((last & 1) != 0) != owner) return std::nullopt;
        next_ = (next_ + 1) & completion_mask;
        std::byte bytes[4];
        write32(bytes, next_);
        std::uint32_t stored = 0;
        std::memcpy(&stored, bytes, sizeof stored);
        __atomic_store_n(queue_.record, stored, __ATOMIC_RELEASE);
        Completion read;
        read.opcode = last >> 4;
        read.request = std::to_integer<std::uint8_t>(entry[56]);
        read.pair = read32(entry + 56) & number_mask;
        read.index = read16(entry + 60);
        read.bytes = read32(entry + 44);
        read.immediate = read32(entry + 36);
        if (read.opcode >= 13) {
            read.syndrome = std::to_integer<std::uint8_t>(entry[55]);
            read.refusal = static_cast<Refusal>(entry[54]);
        }
        return read;
    }

  private:
    mlx5::CompletionQueue queue_;
    std::uint32_t next_;
};

// Two doubles of cards, for the tests of the double itself.

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
