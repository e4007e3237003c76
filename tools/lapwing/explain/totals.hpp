// Totals over lists: sends, bytes and steps.
#pragma once

#include <cstdint>
#include <span>

#include "task/list.hpp"

namespace lapwing::tool {

struct Totals {
    std::uint64_t sends = 0;
    std::uint64_t bytes = 0;  // over all sends
    // The longest chain of messages in which each can only be sent once the one before has arrived.
    // Known only for the lists of all ranks, if they complete.
    std::uint64_t steps = 0;
};

Totals totals(std::span<const List> lists);

}  // namespace lapwing::tool
