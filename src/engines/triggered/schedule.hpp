// A list as a network card can run it without the processor: writes into the peers' memory, and the counts
// that each of them waits for. Data in, data out, without a network.
//
// - A message is written into a *slot*, memory of its receiver for this sender. Its offset is the sum of the
//   lengths of the messages before. Both ranks compute it from their own lists.
// - Each message that lands in a slot raises the pair's *landing counter* by one. So `wait 3 2` is a
//   threshold on one counter.
// - Received bytes are not copied. A list that copies them, or passes them on, sends them from where they
//   have landed. A message whose bytes lie in several pieces is several writes, of which the last one counts.
//   The processor moves only those bytes that belong into the caller's memory, at the end.
// - Reductions need the processor, and divide the list into *stages*. Writes after a stage wait for a counter
//   that the processor raises. Each reduction has memory of its own for its result, so that no bytes change
//   while they are sent.
//
// Each start of a persistent list has the same buffers, so it needs fewer copies: what the list receives into
// `out` is written there directly (Landing::direct). Its receives are at the top, so the list itself does not
// use these bytes from its start until it has waited for them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/verdict.hpp"
#include "task/list.hpp"

namespace lapwing::triggered {

// The location of bytes while a list runs.
struct Location {
    enum class Memory : std::uint8_t {
        in,
        out,
        slot,
        reduced,  // the results of the run's reductions
    };
    Memory memory = Memory::in;
    std::int32_t peer = -1;  // slot: the sender of its messages
    std::uint64_t offset = 0;

    bool operator==(const Location&) const = default;
};

// The memory in which messages land.
enum class Landing : std::uint8_t {
    slots,
    direct,  // in `out`, if the list receives them there; others in slots
};

struct Write {
    std::int32_t peer = -1;
    Location source;
    std::uint64_t bytes = 0;   // 0: a message of no bytes
    std::uint64_t target = 0;  // offset in the peer's slot; direct: unused, the peer announces the location
    bool counts = true;        // it is the last write of its message
    std::uint32_t level = 0;
    std::uint64_t message = 0;  // the number of its message among those to the peer
    std::uint64_t within = 0;   // offset in its message

    bool operator==(const Write&) const = default;
};

// Contiguous bytes.
struct Piece {
    Location place;
    std::uint64_t bytes = 0;

    bool operator==(const Piece&) const = default;
};

// The number of messages from a peer that must have landed, from the beginning of the list.
struct Arrival {
    std::int32_t peer = -1;
    std::uint64_t messages = 0;

    bool operator==(const Arrival&) const = default;
};

// What the writes of a level wait for, beyond the conditions of the level before.
struct Level {
    std::vector<Arrival> arrivals;
    std::uint32_t stages = 0;  // that must be over, from the beginning; 0: as the level before

    bool operator==(const Level&) const = default;
};

// result = source op target; the pieces are joined in order.
struct Reduction {
    Operator op = Operator::sum;
    Type type = Type::uint8;
    std::vector<Piece> source;
    std::vector<Piece> target;
    std::uint64_t bytes = 0;
    std::uint64_t result = 0;  // offset in the memory `reduced`

    bool operator==(const Reduction&) const = default;
};

// Reductions that the processor does in order, when the stages before are over and these messages have
// landed.
struct Stage {
    std::vector<Arrival> arrivals;
    std::vector<Reduction> reductions;

    bool operator==(const Stage&) const = default;
};

// Bytes that are moved into the caller's `out` at the end.
struct Move {
    Location source;
    std::uint64_t bytes = 0;
    std::uint64_t target = 0;  // offset in out

    bool operator==(const Move&) const = default;
};

// The messages between a peer and this rank in one run.
struct Exchange {
    std::int32_t peer = -1;
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t slot_bytes = 0;  // received bytes that land in the slot
    std::vector<Piece> landings;   // direct: of each received message

    bool operator==(const Exchange&) const = default;
};

struct Schedule {
    std::vector<Write> writes;  // in the list's order: levels never decrease
    std::vector<Level> levels;  // writes of level 0 wait for nothing
    std::vector<Stage> stages;
    std::uint64_t reduced_bytes = 0;
    std::vector<Move> moves;
    std::vector<Exchange> exchanges;  // by peer

    bool operator==(const Schedule&) const = default;
    // The number of stages that writes wait for.
    std::uint32_t awaited_stages() const;
};

// Longer writes are split: networks have a limit (libfabric's provider sockets: 8 MiB).
inline constexpr std::uint64_t max_bytes_of_write = std::uint64_t{4} << 20;

// Whether a list has a schedule: receives at the top, no enable tasks.
Verdict has_schedule(const List& list);

// `list` must have a schedule. Throws Error (invalid_argument) if it waits for more than it receives, or
// sends bytes that no task has written.
Schedule schedule(const List& list, Landing landing = Landing::slots);

}  // namespace lapwing::triggered
