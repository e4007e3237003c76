// What is the same for all runs of a list.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/mlx5/work_queues.hpp"
#include "task/problem.hpp"

namespace lapwing::mlx5 {

// The buffers are copied, in and out.
bool bounced(const List& list);
// In the variants that write, messages are sent all the same to a receiver whose memory for them differs from
// run to run, or is long; and those of collectives that may be one problem at one rank and several at
// another: where blocks differ in length, or a rank may have its input in place by itself.
bool written_to(const List& list);
bool sends_only(const Problem& problem);

struct Plan {
    Plan(const List& list, const WorkVariant& variant, const WorkLimits& limits,
         std::optional<std::uint32_t> number_of_landing);

    WorkQueues queues;
    std::uint64_t in_bytes = 0, out_bytes = 0, scratch_bytes = 0;
    // Of `out`, without overlaps: what anything writes; and what no message does. Nothing reads the bytes of
    // a receive before it is complete, so only the latter have a value at the start.
    std::vector<Span> written, not_received;
    bool bounced = false;
    std::optional<std::uint32_t> landing;  // its number, where messages of this list may be written
    bool written_to = false;               // those to this rank
};

}  // namespace lapwing::mlx5
