// What stands in the memory that the ranks of one host share: for each rank a doorbell, and for each ordered
// pair of ranks a FIFO. The templates have the platform as a parameter: tests run the same protocol on words
// of their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/short_message.hpp"

namespace lapwing::shm {

constexpr std::size_t cache_line = 64;

// A word that both sides of a FIFO change: Platform::Word<std::uint32_t> is like std::atomic.
template <typename Platform, typename Value>
using Word = typename Platform::template Word<Value>;

enum class Kind : std::uint32_t {
    eager,  // the bytes of a message
    offer,  // a long message: where it stands in the sender's memory
    piece,  // bytes of an offered message
};

// A message, or the announcement of one. What is longer than `inside` stands in the FIFO's payload.
template <typename Platform>
struct alignas(cache_line) Slot {
    static constexpr std::uint64_t inside_bytes = 40;

    Word<Platform, std::uint64_t> number;  // of the message that stands here, counted from 1; written last
    std::uint64_t group;
    std::uint32_t channel;
    std::uint32_t form;  // kind << 28 | bytes
    std::byte inside[inside_bytes];
};

// What `inside` holds where it does not hold the message.
struct Elsewhere {
    std::uint64_t at;      // offer: address in the sender's memory; else: position in the payload
    std::uint64_t bytes;   // offer: of the whole message; piece: how many stand before it
    std::uint32_t ticket;  // of the offered message
};

// How far an offered message has come. The receiver opens it. Then both copy chunks of it, whoever has time;
// or the sender sends pieces, and who looks for pieces, or for room for them, in vain copies some that nobody
// has claimed. The sender may use it again when the receiver has closed it.
//
// The system may refuse copies at any time (a process that changes its user, say). Then the message begins
// again, in pieces: the receiver refuses, the sender stops and says so, and the receiver opens it anew. A
// sender whose own copy is refused stops unasked.
template <typename Platform>
struct alignas(cache_line) Ticket {
    enum State : std::uint32_t { free, offered, shared, wants_pieces, refused, stopped, closed };

    Word<Platform, std::uint32_t> state;
    Word<Platform, std::uint32_t> claimed;  // chunks or pieces that somebody copies
    Word<Platform, std::uint32_t> copied;   // chunks that are copied; pieces that the sender has copied
    Word<Platform, std::uint64_t> target;   // address in the receiver's memory
};

// What the reader of a FIFO tells its writer: everything before this may be written again.
template <typename Platform>
struct alignas(cache_line) Consumed {
    Word<Platform, std::uint64_t> slots;
    Word<Platform, std::uint64_t> payload;
};

// A rank that sleeps says so, and where; who has something for it rings.
enum Asleep : std::uint32_t { awake, at_the_word, at_a_pipe };
template <typename Platform>
struct alignas(2 * cache_line) Doorbell {
    Word<Platform, std::uint32_t> rings;
    Word<Platform, std::uint32_t> asleep;
    Word<Platform, std::uint32_t> pipe;  // its writing end in the sleeper's process, and 1 more; 0: none
};

// Of one FIFO: how much it holds. Slots and payload are powers of two.
struct Geometry {
    std::uint64_t slots = 64;
    std::uint64_t payload = 65536;  // bytes
    std::uint32_t tickets = 8;      // long messages that are on their way at once
    // Of a long message, what one of the two copies at once: long against a system call, short against the
    // message. Up to four of these of a longer one, a quarter of it.
    std::uint64_t chunk = 131072;
    std::uint64_t chunk_of(std::uint64_t bytes) const {
        return std::clamp<std::uint64_t>(bytes / 4 / chunk, 1, 4) * chunk;
    }

    // Messages up to this go in pieces, which stay in the processors' caches; of longer ones it pays that
    // each byte is copied once. Where ways are measured this is the first guess.
    std::uint64_t max_in_pieces = 2097152;
    bool measures_ways = false;
    // Who looks for a piece, or for room for one, copies itself after so many nanoseconds. Longer than the
    // other side's own copies take: else both would go on copying, each in vain waiting for the other's
    // pieces.
    std::uint64_t patience = 50000;

    // FIFOs grow with the square of the ranks, so they are smaller where there are many. Only what is used
    // becomes memory.
    static Geometry of(int ranks) {
        Geometry geometry;
        while (geometry.payload > 4096 &&
               geometry.payload * static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(ranks) >
                   (1U << 26)) {
            geometry.payload /= 2;
        }
        return geometry;
    }
    // The longest message that goes through the FIFO as a whole.
    std::uint64_t eager_limit() const { return std::min<std::uint64_t>(payload / 4, max_short_bytes); }
};

// Where the parts of one FIFO begin.
template <typename Platform>
struct Fifo {
    Consumed<Platform>* consumed = nullptr;
    Ticket<Platform>* tickets = nullptr;  // geometry.tickets of them
    Slot<Platform>* slots = nullptr;
    std::byte* payload = nullptr;
    Geometry geometry;

    static std::uint64_t bytes(const Geometry& geometry) {
        return sizeof(Consumed<Platform>) + geometry.tickets * sizeof(Ticket<Platform>) +
               geometry.slots * sizeof(Slot<Platform>) + geometry.payload;
    }
    // In zeroed memory, aligned to a cache line.
    static Fifo at(std::byte* memory, const Geometry& geometry) {
        Fifo fifo;
        fifo.geometry = geometry;
        fifo.consumed = reinterpret_cast<Consumed<Platform>*>(memory);
        memory += sizeof(Consumed<Platform>);
        fifo.tickets = reinterpret_cast<Ticket<Platform>*>(memory);
        memory += geometry.tickets * sizeof(Ticket<Platform>);
        fifo.slots = reinterpret_cast<Slot<Platform>*>(memory);
        fifo.payload = memory + geometry.slots * sizeof(Slot<Platform>);
        return fifo;
    }
};

}  // namespace lapwing::shm
