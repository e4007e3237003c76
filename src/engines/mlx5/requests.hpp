// From the requests of a list's work queues to entries of a card's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/mlx5/work_queues.hpp"
#include "engines/mlx5/wqe.hpp"

namespace lapwing::mlx5 {

// What a request names on this card.
struct Operands {
    std::uint32_t queue_pair = 0;  // the request's own
    Data data;                     // send, write, copy
    RemoteData target;             // copy; write: where its receiver wants it
    std::uint32_t object = 0;      // wait: the completion queue; enable: the queue pair
};

// All but its indices. A write of no bytes needs no address. One whose target has no key goes as a send,
// which uses up a receive as well.
void put_request(std::byte* block, const WorkRequest& request, const Operands& operands);

// For a start, also for a later one: `index` is that of its block, and `before` what its count counts from:
// of a wait, the index of the first completion of this start; of an enable, the index of the first request.
void rearm(std::byte* block, const WorkRequest& request, std::uint16_t index, std::uint32_t before);

}  // namespace lapwing::mlx5
