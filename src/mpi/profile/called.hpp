// A call that transfers data, between its wrapper and the event that records it.
#pragma once

#include <cstdint>

namespace lapwing::profile {

// From its first to its last byte; null: none, or unknown.
struct Memory {
    const void* begin = nullptr;
    std::uint64_t bytes = 0;
};

// What a call reads and fills, and only if first touches are recorded.
struct Buffers {
    Memory sent{};
    Memory filled{};
};

// A collective, or a call that sends or receives messages.
struct Called {
    bool is_message = false;
    std::uint8_t kind = 0;  // of the event of a blocking collective
    std::uint32_t site = 0;
    std::uint32_t communicator = 0;  // of a collective
    std::uint32_t number = 0;        // on that communicator
    std::uint64_t bytes = 0;
    std::uint64_t began = 0;
    Buffers buffers;
    // If first touches are recorded.
    std::uint64_t transfer = 0;  // its number; 0: MPI uses none of its buffers
    bool knows_last_write = false;
    std::uint64_t unwritten_at_least = 0;  // nanoseconds from the last write to the call
    std::uint64_t unwritten_at_most = 0;
};

}  // namespace lapwing::profile
