// A list as the card runs it: what all of its runs share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/mlx5/work_queues.hpp"
#include "task/problem.hpp"

namespace lapwing::mlx5 {

// Whether the runs copy the caller's buffers, in and out.
bool bounced(const List& list);
// The variants that write still send some messages: to a receiver whose memory differs from run to run, or is
// long; and those of collectives that may be one problem at one rank and several at another, because blocks
// differ in length, or a rank alone may have its input in place.
bool written_to(const List& list);
bool sends_only(const Problem& problem);

struct Plan {
    Plan(const List& list, const WorkVariant& variant, const WorkLimits& limits,
         std::optional<std::uint32_t> number_of_landing);

    WorkQueues queues;
    std::uint64_t in_bytes = 0, out_bytes = 0, scratch_bytes = 0;
    // Spans of `out`, without overlaps: those that a task writes; and those that no message writes. No task
    // reads the bytes of a receive before it is complete, so only the latter need a value at the start.
    std::vector<Span> written, not_received;
    bool bounced = false;
    std::optional<std::uint32_t> landing;  // its number, if messages of this list may be written
    bool written_to = false;               // whether messages to this rank are written
};

}  // namespace lapwing::mlx5
