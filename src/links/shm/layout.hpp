// Layout of the memory that the ranks of one host share: for each rank a doorbell, and for each ordered pair
// of ranks a FIFO. The templates have the platform as a parameter: tests run the same protocol on words of
// their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/short_message.hpp"

namespace lapwing::shm {

constexpr std::size_t cache_line = 64;

// A word that both sides of a FIFO change; like std::atomic.
template <typename Platform, typename Value>
using Word = typename Platform::template Word<Value>;

enum class Kind : std::uint32_t {
    eager,  // the bytes of a message
    offer,  // a long message: its address in the sender's memory
    piece,  // bytes of an offered message
};

// A message, or the offer of one. Bytes that do not fit `inside` are in the FIFO's payload.
template <typename Platform>
struct alignas(cache_line) Slot {
    static constexpr std::uint64_t inside_bytes = 40;

    Word<Platform, std::uint64_t> number;  // of the message in this slot, from 1; written last
    std::uint64_t group;
    std::uint32_t channel;
    std::uint32_t form;  // kind << 28 | bytes
    std::byte inside[inside_bytes];
};

// What `inside` contains if it does not contain the message.
struct Elsewhere {
    std::uint64_t at;      // offer: address in the sender's memory; otherwise: position in the payload
    std::uint64_t bytes;   // offer: of the whole message; piece: offset in the message
    std::uint32_t ticket;  // of the offered message
};

// The state of an offered message. The receiver opens it. Then either both sides copy chunks of it, whichever
// has time; or the sender sends pieces, and a side that waits too long for pieces, or for room for them,
// copies some unclaimed ones. The sender may use the ticket again when the receiver has closed it.
template <typename Platform>
struct alignas(cache_line) Ticket {
    enum State : std::uint32_t { free, offered, shared, wants_pieces, closed };

    Word<Platform, std::uint32_t> state;
    Word<Platform, std::uint32_t> claimed;  // chunks or pieces that a side has started to copy
    Word<Platform, std::uint32_t> copied;   // chunks that are copied; pieces that the sender has copied
    Word<Platform, std::uint64_t> target;   // address in the receiver's memory
};

// Written by the reader of a FIFO: everything before this may be overwritten.
template <typename Platform>
struct alignas(cache_line) Consumed {
    Word<Platform, std::uint64_t> slots;
    Word<Platform, std::uint64_t> payload;
};

// Whether a rank sleeps, and where. A peer that has something for it rings.
enum Asleep : std::uint32_t { awake, at_the_word, at_a_pipe };
template <typename Platform>
struct alignas(2 * cache_line) Doorbell {
    Word<Platform, std::uint32_t> rings;
    Word<Platform, std::uint32_t> asleep;
    Word<Platform, std::uint32_t> pipe;  // its writing end in the sleeper's process, and 1 more; 0: none
};

// The size of one FIFO. Slots and payload are powers of two.
struct Geometry {
    std::uint64_t slots = 64;
    std::uint64_t payload = 65536;  // bytes
    std::uint32_t tickets = 8;      // long messages in flight
    // Bytes of a long message that one side copies at once: long compared with a system call, short compared
    // with the message. Of longer messages a quarter, up to four times as much.
    std::uint64_t chunk = 131072;
    std::uint64_t chunk_of(std::uint64_t bytes) const {
        return std::clamp<std::uint64_t>(bytes / 4 / chunk, 1, 4) * chunk;
    }

    // Messages up to this size go in pieces, which stay in the processors' caches. For longer messages it
    // pays to copy each byte only once. If ways are measured, this is the first guess.
    std::uint64_t max_in_pieces = 2097152;
    bool measures_ways = false;
    // A side that waits for a piece, or for room for one, copies itself after so many nanoseconds. This is
    // longer than the other side's own copies take: otherwise both sides would only copy, and neither send
    // pieces.
    std::uint64_t patience = 50000;

    // There are as many FIFOs as pairs of ranks, so they are smaller for many ranks. Only pages that are used
    // take memory.
    static Geometry of(int ranks) {
        Geometry geometry;
        while (geometry.payload > 4096 &&
               geometry.payload * static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(ranks) >
                   (1U << 26)) {
            geometry.payload /= 2;
        }
        return geometry;
    }
    // Bytes of the longest message that goes through the FIFO as a whole.
    std::uint64_t eager_limit() const { return std::min<std::uint64_t>(payload / 4, max_short_bytes); }
};

// The parts of one FIFO.
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
