// The orders in which the chains of all ranks run, chosen to provoke failures.
#pragma once

#include <cstdint>
#include <string>

#include "task/checker/chain_table.hpp"

namespace lapwing::checker {

// One order in which chains may run. Steps that move no bytes happen as soon as possible, so that sends get
// ahead of tasks that they must not overtake.
struct Order {
    enum class Late { nothing, receives, connection, rank, others, processors, random };

    std::uint64_t capacity = 1;  // bytes that a connection holds
    std::uint64_t piece = 1;     // maximum number of bytes that move at once
    Late late = Late::nothing;   // what moves only if nothing else can move
    std::uint32_t which = 0;     // connection: the pair; rank, others: the rank; random: the seed
    int rounds = 1;              // collectives in a row, without synchronization between them

    // Returns whether this step of the rank is late.
    bool is_late(int rank, const Move& move) const;
    // "when connections hold 1 byte and receives are late"
    std::string describe() const;
};

}  // namespace lapwing::checker
