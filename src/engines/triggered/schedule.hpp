// A list as a network card can run it without the processor: writes into the peers' memory, and what each of
// them waits for. Data in, data out; nothing here knows a network.
//
// - A message is written into memory that its receiver keeps for the sender, the *slot* of the pair: at the
//   offset that the lengths of the messages before it add up to. Both ranks know it from their own lists.
// - What arrives in a slot raises the pair's *landing counter*, once for each message. So `wait 3 2` is a
//   threshold on one counter.
// - Nothing is copied on the way. A list that copies, or passes on what it has received, sends it from where
//   it has landed; a message whose bytes lie in several places is several writes, of which the last one
//   counts. Only the bytes that belong into the caller's memory are moved, by the processor, at the end.
// - Reductions need the processor, and divide the list into *stages*. What stands behind a stage waits for a
//   counter that the processor raises. Each reduction has memory of its own for its result: nothing that a
//   peer is being sent is overwritten.
//
// A list that keeps its buffers from one start to the next, of a persistent collective, needs fewer copies:
// what the list receives into its out is written there at once (Landing::direct). Its receives stand at the
// top, so the list itself leaves these bytes alone from its start until it has waited for them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/verdict.hpp"
#include "task/list.hpp"

namespace lapwing::triggered {

// Where bytes are while a list runs.
struct Location {
    enum class Memory : std::uint8_t {
        in,
        out,
        slot,
        reduced,  // the results of the run's reductions
    };
    Memory memory = Memory::in;
    std::int32_t peer = -1;  // whose messages the slot holds
    std::uint64_t offset = 0;

    bool operator==(const Location&) const = default;
};

// Where messages land.
enum class Landing : std::uint8_t {
    slots,
    direct,  // where the list receives them, if that is in its out; others in slots
};

struct Write {
    std::int32_t peer = -1;
    Location source;
    std::uint64_t bytes = 0;   // 0: a message of no bytes
    std::uint64_t target = 0;  // offset in the peer's slot; direct: the peer says where its message lands
    bool counts = true;        // the last one of its message
    std::uint32_t level = 0;
    std::uint64_t message = 0;  // its message's number among those to the peer
    std::uint64_t within = 0;   // offset in its message

    bool operator==(const Write&) const = default;
};

// Bytes that lie side by side.
struct Piece {
    Location place;
    std::uint64_t bytes = 0;

    bool operator==(const Piece&) const = default;
};

// So many messages from a peer must have landed, from the beginning of the list.
struct Arrival {
    std::int32_t peer = -1;
    std::uint64_t messages = 0;

    bool operator==(const Arrival&) const = default;
};

// What the writes of a level wait for, beyond what those of the level before do.
struct Level {
    std::vector<Arrival> arrivals;
    std::uint32_t stages = 0;  // so many are over, from the beginning; 0: as the level before

    bool operator==(const Level&) const = default;
};

// result = source op target, of pieces in their order.
struct Reduction {
    Operator op = Operator::sum;
    Type type = Type::uint8;
    std::vector<Piece> source;
    std::vector<Piece> target;
    std::uint64_t bytes = 0;
    std::uint64_t result = 0;  // offset in the memory `reduced`

    bool operator==(const Reduction&) const = default;
};

// What the processor does, in order, once the stages before are over and these messages have landed.
struct Stage {
    std::vector<Arrival> arrivals;
    std::vector<Reduction> reductions;

    bool operator==(const Stage&) const = default;
};

// What is moved into the caller's out at the end.
struct Move {
    Location source;
    std::uint64_t bytes = 0;
    std::uint64_t target = 0;  // offset in out

    bool operator==(const Move&) const = default;
};

// What a peer and this rank exchange in one run.
struct Exchange {
    std::int32_t peer = -1;
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t slot_bytes = 0;  // of these, what lands in the slot
    std::vector<Piece> landings;   // direct: of each message received

    bool operator==(const Exchange&) const = default;
};

struct Schedule {
    std::vector<Write> writes;  // in the list's order, so levels never fall
    std::vector<Level> levels;  // writes of level 0 wait for nothing
    std::vector<Stage> stages;
    std::uint64_t reduced_bytes = 0;
    std::vector<Move> moves;
    std::vector<Exchange> exchanges;  // by peer

    bool operator==(const Schedule&) const = default;
    // How many stages writes wait for.
    std::uint32_t awaited_stages() const;
};

// Networks write no more at a time (libfabric's provider sockets: 8 MiB).
inline constexpr std::uint64_t max_bytes_of_write = std::uint64_t{4} << 20;

// Whether a list has a schedule: receives at the top, no enable tasks.
Verdict has_schedule(const List& list);

// For a list that has one. Throws Error (invalid_argument) where it waits for more than it receives, or sends
// what nothing has written.
Schedule schedule(const List& list, Landing landing = Landing::slots);

}  // namespace lapwing::triggered
