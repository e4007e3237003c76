// In which order the chains of all ranks run: chosen to do harm.
#pragma once

#include <cstdint>
#include <string>

#include "task/checker/chain_table.hpp"

namespace lapwing::checker {

// One order in which chains may run. Steps that do not move bytes happen as soon as they can: this is how
// sends get ahead of what they must not overtake.
struct Order {
    enum class Late { nothing, receives, connection, rank, others, processors, random };

    std::uint64_t capacity = 1;  // bytes that a connection holds
    std::uint64_t piece = 1;     // most bytes that move at once
    Late late = Late::nothing;   // what moves only when nothing else can
    std::uint32_t which = 0;     // connection: the pair; rank, others: the rank; random: the seed
    int rounds = 1;              // collectives, one after the other; no rank waits for another between them

    // Whether the rank's steps of this kind, at this place of the table, are late.
    bool is_late(int rank, const Move& move) const;
    // "when connections hold 1 byte and receives are late"
    std::string describe() const;
};

}  // namespace lapwing::checker
